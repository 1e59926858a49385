#!/bin/bash
#
# A scaling study of Tessera in a job of Slurm: 1, 2, 4, ... ranks up to all of the job, one rank per GPU. Copy it,
# change the lines #SBATCH and the lines from here to "From here on". Submit it with `sbatch slurm_scaling.sh`.

#SBATCH --job-name=tessera-scaling
#SBATCH --time=02:00:00
#SBATCH --nodes=4
# One rank per GPU of a node, each with its share of the processors. On a machine without GPUs: one rank per NUMA
# domain, its cores as --cpus-per-task, and no line with GPUs.
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-task=1
# No other jobs on the nodes: they would lower the measured roofs.
#SBATCH --exclusive

TESSERA=${TESSERA:-tessera}            # the program: after `spack load tessera`, or a path
PRESET=${PRESET:-weak}                 # or strong
REPORTS=${REPORTS:-$PRESET-$SLURM_JOB_ID}
OPTIONS=${OPTIONS:-}                   # of tessera study, such as --apps dot,transpose --sizes-per-rank 2^28

# From here on nothing needs to be changed.
set -euo pipefail
# Threads of a rank on its own cores, one per core, for rows of OpenMP.
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1} OMP_PROC_BIND=spread OMP_PLACES=cores
# srun does not inherit it from sbatch since Slurm 22.05.
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
ranks=1
for ((number = 2; number <= SLURM_NTASKS; number *= 2)); do ranks+=,$number; done
# --nodes: without it srun spreads few ranks over all nodes of the job. The other options: see slurm.sh.
per_node=$((SLURM_NTASKS / SLURM_JOB_NUM_NODES))
nodes="\$(((\$0 + $per_node - 1) / $per_node))"
start="exec srun --nodes=$nodes --ntasks=\$0 --gpu-bind=none --cpu-bind=cores \"\$@\""
# The study is one process, which starts the ranks of its launches. Finished launches are not repeated if REPORTS is
# the folder of a killed job.
# shellcheck disable=SC2086  # a list of words
exec "$TESSERA" study --preset "$PRESET" --ranks "$ranks" --launcher "bash -c '$start' {ranks}" --out "$REPORTS" \
  $OPTIONS --run
