#!/bin/bash
#
# Tessera in a job of Flux: one rank per GPU, several launches, one report each. Copy it, change the lines # flux: and
# the lines from here to "From here on". Submit it with `flux batch flux.sh`.

# flux: --job-name=tessera
# flux: --time-limit=30m
# flux: --nodes=1
# No other jobs on the nodes: they would lower the measured roofs.
# flux: --exclusive

RANKS_PER_NODE=${RANKS_PER_NODE:-4}    # one per GPU of a node; without GPUs one per NUMA domain
CORES_PER_RANK=${CORES_PER_RANK:-16}
GPUS_PER_RANK=${GPUS_PER_RANK:-1}      # 0 without GPUs
TESSERA=${TESSERA:-tessera}            # the program: after `spack load tessera`, or a path
REPORTS=${REPORTS:-reports-$(flux getattr jobid)}
LAUNCHES=${LAUNCHES:-5}                # `tessera compare` and medians over launches need five
ARGUMENTS=${ARGUMENTS:-run all --size 2^28}

# From here on nothing needs to be changed.
set -euo pipefail
mkdir -p "$REPORTS"
nodes=$(flux resource list --states=all --no-header --format '{nnodes}' | head -n 1)
ranks=$((nodes * RANKS_PER_NODE))
# Threads of a rank on its own cores, one per core, for rows of OpenMP.
export OMP_NUM_THREADS=$CORES_PER_RANK OMP_PROC_BIND=spread OMP_PLACES=cores
# On several ranks only variants of the level `ranks` run.
if ((ranks > 1)); then ARGUMENTS+=' --level ranks'; fi
# Kokkos does not know Flux' number of a rank on its node.
start=(bash -c 'exec "$@"' -)
# shellcheck disable=SC2016  # the variable is each rank's
if ((GPUS_PER_RANK > 0)); then start=(bash -c 'exec "$@" --kokkos-device-id="$FLUX_TASK_LOCAL_ID"' -); fi
for ((i = 1; i <= LAUNCHES; ++i)); do
  report=$REPORTS/$(printf '%02d' "$i").json
  # Finished launches are not repeated if REPORTS is the folder of a killed job.
  if [[ -e $report ]] && grep -q '"finished":"' "$report"; then continue; fi
  # gpu-affinity=off: each rank sees all GPUs of its node, and takes the GPU with its number. Ranks that are bound to
  # one GPU could not reach each other's memory.
  # cpu-affinity=per-task: a rank stays on its own cores.
  # shellcheck disable=SC2086  # a list of words
  flux run --nodes="$nodes" --ntasks="$ranks" --cores-per-task="$CORES_PER_RANK" --gpus-per-task="$GPUS_PER_RANK" \
    --setopt=cpu-affinity=per-task --setopt=gpu-affinity=off "${start[@]}" "$TESSERA" $ARGUMENTS \
    --json "$report" >"${report%.json}.txt" || code=$?
  # 1: a row failed, and the report says which; more: the launch did not run.
  if ((${code:-0} > 1)); then exit "$code"; fi
done
