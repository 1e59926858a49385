#!/bin/bash
#
# Tessera in a job of Slurm: one rank per GPU, several launches, one report each. Copy it, change the lines #SBATCH and
# the lines from here to "From here on". Submit it with `sbatch slurm.sh`.

#SBATCH --job-name=tessera
#SBATCH --time=00:30:00
#SBATCH --nodes=1
# One rank per GPU of a node, each with its share of the processors. On a machine without GPUs: one rank per NUMA
# domain, its cores as --cpus-per-task, and no line with GPUs.
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-task=1
# No other jobs on the nodes: they would lower the measured roofs.
#SBATCH --exclusive

TESSERA=${TESSERA:-tessera}            # the program: after `spack load tessera`, or a path
REPORTS=${REPORTS:-reports-$SLURM_JOB_ID}
LAUNCHES=${LAUNCHES:-5}                # `tessera compare` and medians over launches need five
ARGUMENTS=${ARGUMENTS:-run all --size 2^28}

# From here on nothing needs to be changed.
set -euo pipefail
mkdir -p "$REPORTS"
# Threads of a rank on its own cores, one per core, for rows of OpenMP.
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} OMP_PROC_BIND=spread OMP_PLACES=cores
# On several ranks only variants of the level `ranks` run.
if ((SLURM_NTASKS > 1)); then ARGUMENTS+=' --level ranks'; fi
# srun does not inherit it from sbatch since Slurm 22.05.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
for ((i = 1; i <= LAUNCHES; ++i)); do
  report=$REPORTS/$(printf '%02d' "$i").json
  # Finished launches are not repeated if REPORTS is the folder of a killed job.
  if [[ -e $report ]] && grep -q '"finished":"' "$report"; then continue; fi
  # --gpu-bind=none: each rank sees all GPUs of its node, and Kokkos takes the GPU with the rank's number. Ranks that
  # are bound to one GPU could not reach each other's memory.
  # --cpu-bind=cores: a rank stays on the cores next to its GPU.
  # shellcheck disable=SC2086  # a list of words
  srun --gpu-bind=none --cpu-bind=cores "$TESSERA" $ARGUMENTS --json "$report" >"${report%.json}.txt" || code=$?
  # 1: a row failed, and the report says which; more: the launch did not run.
  if ((${code:-0} > 1)); then exit "$code"; fi
done
