#!/bin/bash
#
# Tessera in a job of Slurm: one rank a GPU, several launches, a report of each. Copy it, change what the lines #SBATCH
# say, and what stands between here and "From here on". Submit it with `sbatch slurm.sh`.

#SBATCH --job-name=tessera
#SBATCH --time=00:30:00
#SBATCH --nodes=1
# As many ranks a node as it has GPUs, and each its share of the processors. On a machine without GPUs: one rank a NUMA
# domain, its cores as --cpus-per-task, and the line with GPUs left out.
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-task=1
# Nobody else's job on the nodes: a roof that is measured beside another job is not the machine's.
#SBATCH --exclusive

TESSERA=${TESSERA:-tessera}            # the program: after `spack load tessera`, or a path
REPORTS=${REPORTS:-reports-$SLURM_JOB_ID}
LAUNCHES=${LAUNCHES:-5}                # `tessera compare` and medians over launches need five
ARGUMENTS=${ARGUMENTS:-run all --size 2^28}

# From here on nothing needs to be changed.
set -euo pipefail
mkdir -p "$REPORTS"
# Threads of a rank on its own cores, one each, for rows of OpenMP.
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} OMP_PROC_BIND=spread OMP_PLACES=cores
# On several ranks only variants of the level `ranks` run.
if ((SLURM_NTASKS > 1)); then ARGUMENTS+=' --level ranks'; fi
# srun does not inherit it from sbatch since Slurm 22.05.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
for ((i = 1; i <= LAUNCHES; ++i)); do
  report=$REPORTS/$(printf '%02d' "$i").json
  # What is done is not done again, if REPORTS is the folder of the job that was killed.
  if [[ -e $report ]] && grep -q '"finished":"' "$report"; then continue; fi
  # --gpu-bind=none: each rank sees all GPUs of its node and Kokkos takes the one of its number there. With a GPU bound
  # to each rank they could not reach each other's memory.
  # --cpu-bind=cores: a rank stays on the cores that lie beside its GPU.
  # shellcheck disable=SC2086  # a list of words
  srun --gpu-bind=none --cpu-bind=cores "$TESSERA" $ARGUMENTS --json "$report" >"${report%.json}.txt" || code=$?
  # 1 is a row that failed, which the report says; more is a launch that did not run.
  if ((${code:-0} > 1)); then exit "$code"; fi
done
