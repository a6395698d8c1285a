#!/bin/bash
# A sweep as an array of shards: sbatch docs/deploy/sweep-slurm.sh my-sweep.yaml threads.jsonl.gz
#SBATCH --job-name=earshot-sweep
#SBATCH --array=0-9
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
# Two minutes before its time is over the script is told, to save and to be queued again.
#SBATCH --signal=B:TERM@120
set -euo pipefail
# Of an installed package: node_modules/earshot/experiments/cli/earshot.mjs. Not npx, which passes no signal on.
earshot=experiments/cli/earshot.mjs
sweep=$1
threads=$2
runs="${SCRATCH:-$PWD}/runs-$SLURM_ARRAY_TASK_ID"

node "$earshot" sweep "$sweep" --data "$threads" --runs "$runs" \
  --jobs "$SLURM_CPUS_PER_TASK" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" &
shard=$!
requeue() {
  # Saves a checkpoint, from which the next attempt goes on.
  kill -TERM "$shard"
  wait "$shard" || true
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
  exit 0
}
trap requeue TERM
wait "$shard"

# When all shards have ended, in one place:
#   mkdir -p runs/my-sweep && cp -r "$SCRATCH"/runs-*/my-sweep/. runs/my-sweep/
#   node experiments/cli/earshot.mjs sweep my-sweep.yaml --data threads.jsonl.gz
