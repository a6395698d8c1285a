#!/usr/bin/env bash
# What Earshot does on a machine with an NVIDIA GPU, in about ten minutes, written to gpu-report.md:
#
#   benchmarks/gpu.sh [report]
#
# It needs Node 20 to 24, npm and the Vulkan loader; the steps for tensorflow also need a C++ compiler, Python 3.9 to 3.13 and a package
# registry, and were never run on a GPU. A step that fails is in the report with its last lines, and the others go on. Please open an
# issue with the report. EARSHOT_REHEARSE=1 runs the steps for tensorflow without a GPU, on its processor kernels.
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

# What each backend said that it runs on.
devices() { sed -n 's/^Device: //p; s/^webgpu runs on //p' "$steps"; }

headline() {
  case $(devices) in
    *GPU*) echo "**On a GPU**: $(devices | grep GPU | head -n 1)" ;;
    *) echo '**No GPU was used.** Nothing below says how fast a GPU is.' ;;
  esac
}

# Every trainer on webgpu and on wasm: how far their weights are apart.
webgpu_beside_wasm() {
  node --import tsx tests/interop/webgpu-training.ts \
    '[{}, {"algorithm": "behavior-cloning"}, {"algorithm": "exact-policy-gradient"}, {"algorithm": "settled"}, {"algorithm": "dqn"}]'
}

# Four programs that share the GPU, and one on each core, at both widths.
programs_at_once() {
  for numbers in 256 1024; do
    node --import tsx benchmarks/programs-at-once.ts --dimensions "$numbers"
    node --import tsx benchmarks/programs-at-once.ts --dimensions "$numbers" --backend webgpu --programs 4
  done
}

# Tests leave the library that was built alone unless they are told where it is.
trainer_tests() {
  EARSHOT_TENSORFLOW=${EARSHOT_TENSORFLOW:-$HOME/.cache/earshot/tensorflow} NO_COLOR=1 EARSHOT_TEST_BACKEND=tensorflow \
    npx vitest run --reporter=dot tests/trainers/stop-agent tests/trainers/gradients.test.ts
}

# Eight agents, and the most memory and use of the GPU meanwhile.
training() {
  earshot train experiments/recipes/quickstart.yaml --set "backend=$1" --seeds 1,2,3,4,5,6,7,8 \
    --runs "$work/runs-$1" --no-html &
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
if [ "${EARSHOT_REHEARSE:-}" != 1 ]; then
  step 'earshot doctor gpu: the webgpu backend' earshot doctor gpu
  step 'Every trainer on webgpu and on wasm' webgpu_beside_wasm
  step 'Programs at once on webgpu and on every core' programs_at_once
  step 'The demo with eight seeds on webgpu' training webgpu
fi
step 'earshot backend install' earshot backend install
step 'earshot doctor tensorflow' earshot doctor tensorflow onnx
step 'Tests of the trainers on the tensorflow backend' trainer_tests
step 'The demo with eight seeds on tensorflow' training tensorflow

{
  printf '# Earshot on a GPU\n\n%s\n\n%s, commit %s, Node %s, %s\n\n' "$(headline)" "$(date -u +%F)" \
    "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" "$(node --version)" "$(uname -srm)"
  cat "$steps"
} >"$report"
echo "gpu.sh: the report is $report; $failed steps failed" >&2
[ "$failed" -eq 0 ]
