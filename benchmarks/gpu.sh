#!/usr/bin/env bash
# What Earshot does on a machine with an NVIDIA GPU, in about ten minutes, written to gpu-report.md:
#
#   benchmarks/gpu.sh [report]
#
# It needs Node 20 or 22, npm, a C++ compiler, Python 3.9 to 3.13 and a package registry. A step that fails is in the report with its
# last lines, and the others go on. The first line of the report says whether a GPU was used. Nobody has run it on one yet; please open
# an issue with the report. EARSHOT_REHEARSE=1 runs it without a GPU, on TensorFlow's processor kernels.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
report=${1:-gpu-report.md}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
steps=$work/steps.md

if [ "${EARSHOT_REHEARSE:-}" != 1 ] && ! nvidia-smi -L; then
  echo "gpu.sh: nvidia-smi finds no GPU here; install NVIDIA's driver, or rehearse with EARSHOT_REHEARSE=1" >&2
  exit 1
fi

earshot() { node experiments/cli/earshot.mjs "$@"; }

ask_gpu() {
  if [ "${EARSHOT_REHEARSE:-}" = 1 ]; then echo 'no GPU: this is a rehearsal'; return; fi
  nvidia-smi "--query-gpu=$1" "--format=$2"
}
gpu() { ask_gpu name,driver_version,memory.total,memory.used,utilization.gpu csv; }
gpu_use() { ask_gpu memory.used,utilization.gpu csv,noheader; }

# What the tensorflow backend said that it runs on.
device() { sed -n 's/^Device: //p' "$steps" | head -n 1; }

headline() {
  case $(device) in
    *GPU*) echo "**On a GPU**: $(device)." ;;
    '') echo '**No GPU was used**: the tensorflow backend was not built.' ;;
    *) echo "**No GPU was used**: $(device). Nothing below says how fast a GPU is." ;;
  esac
}

trainer_tests() {
  NO_COLOR=1 EARSHOT_TEST_BACKEND=tensorflow npx vitest run --reporter=dot tests/trainers/stop-agent tests/trainers/gradients.test.ts
}

# Eight agents trained together, and the most memory and use of the GPU meanwhile.
training() {
  earshot train experiments/recipes/quickstart.yaml --set backend=tensorflow --seeds 1,2,3,4,5,6,7,8 \
    --runs "$work/runs" --no-html &
  local trained=$!
  while kill -0 "$trained" 2>/dev/null; do
    gpu_use
    sleep 2
  done >"$work/use"
  wait "$trained" || return
  echo "GPU meanwhile, the three samples with most memory:"
  sort -n "$work/use" | tail -n 3
}

failed=0
step() {
  local title=$1 started=$SECONDS
  shift
  echo "gpu.sh: $title" >&2
  local ended='ran through'
  if ! "$@" >"$log" 2>&1; then
    ended=FAILED
    failed=$((failed + 1))
  fi
  # shellcheck disable=SC2016 # the backticks are Markdown
  printf '## %s: %s, %s s\n\n```\n%s\n```\n\n' "$title" "$ended" "$((SECONDS - started))" "$(tail -n 60 "$log")" >>"$steps"
}

step 'The GPU' gpu
step 'npm ci' npm ci
step 'earshot backend install' earshot backend install
step 'earshot doctor, batched runs of 1 to 128' earshot doctor tensorflow onnx wasm --batched-runs 1,8,32,128
step 'earshot doctor at 1,024 numbers a state' earshot doctor tensorflow onnx --batched-runs 1,8,32,128 --dimensions 1024
step 'earshot doctor gpu: the webgpu backend' earshot doctor gpu
step 'Tests of the trainers on the tensorflow backend' trainer_tests
step 'The demo with eight seeds, and the GPU meanwhile' training

{
  printf '# Earshot on a GPU\n\n%s\n\n%s, commit %s, Node %s, %s\n\n' "$(headline)" "$(date -u +%F)" \
    "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" "$(node --version)" "$(uname -srm)"
  cat "$steps"
} >"$report"
echo "gpu.sh: the report is $report; $failed steps failed" >&2
[ "$failed" -eq 0 ]
