#!/usr/bin/env bash
# What XLA does on a machine with a GPU, in about fifteen minutes, written to xla-report.md. It was rehearsed on the processor only.
#
#   benchmarks/xla-gpu.sh            with the network: downloads the plugin of DEVICE (cuda13)
#   PLUGIN=<file> benchmarks/xla-gpu.sh     without: a plugin that is there, such as xla_cuda_plugin.so of an installed JAX
#   DEVICE=cpu RUNS=1,4 ITERATIONS=2 benchmarks/xla-gpu.sh     a rehearsal
#
# It needs Node 20 to 24 and `npm ci`; the rows of JAX need Python with JAX. A step that fails is in the report, and the others go on.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
report=${REPORT:-xla-report.md}
export EARSHOT_XLA=${EARSHOT_XLA:-$HOME/.cache/earshot/xla} NO_COLOR=1
runs=${RUNS:-1,32,128} iterations=${ITERATIONS:-20}
: >"$report"

step() {
  printf '\n## %s\n\n```\n' "$1" | tee -a "$report"
  shift
  local started=$SECONDS
  timeout "${STEP_LIMIT:-600}" "$@" 2>&1 | tail -n 40 | tee -a "$report"
  printf '```\n\n%s s\n' $((SECONDS - started)) | tee -a "$report"
}
earshot() { node experiments/cli/earshot.mjs "$@"; }
script() { node --import tsx "$@"; }
export -f earshot script

install() { if [ -n "${PLUGIN:-}" ]; then earshot backend install xla --plugin "$PLUGIN"; else earshot backend install xla --device "${DEVICE:-cuda13}"; fi; }
trainers() {
  for options in '{}' '{"algorithm":"behavior-cloning"}' '{"algorithm":"exact-policy-gradient"}' '{"algorithm":"settled"}' '{"algorithm":"dqn"}'; do
    echo "$options"; script tests/interop/xla-training.ts "$options" 4
  done
}
# A GPU is shared: as many processes at once as the second word says.
processes() {
  for _ in $(seq "$2"); do script benchmarks/xla-runs.ts --runs "$1" --iterations "$iterations" & done
  wait
}
jax() {
  for columns in 256 1024; do
    for members in ${runs//,/ }; do python3 benchmarks/jax-iteration.py "$columns" "$members" alg 50; done
  done
}
export -f install trainers processes jax
export runs iterations

step 'Machine' bash -c 'nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv; nproc; node --version'
step 'Install and try' bash -c install
step 'Device, memory, versions; an iteration beside the processor' bash -c 'earshot doctor xla onnx'
step 'Every trainer beside wasm: alone, together, resumed, with one that fails and one that diverges' bash -c trainers
for columns in 256 1024; do
  step "Runs together, $columns numbers a state" bash -c "script benchmarks/xla-runs.ts --runs $runs --dimensions $columns --iterations $iterations"
done
step 'Four processes' bash -c "processes ${runs##*,} 4"
step 'JAX' bash -c jax
step 'A group that is too large' bash -c "script benchmarks/xla-runs.ts --runs 1024 --dimensions 1024 --iterations 1"
# shellcheck disable=SC2016 # expanded by the inner shell
step 'Sweep' bash -c 'time earshot sweep ratio-pareto --set backend=xla --jobs 1 --no-html --runs "$(mktemp -d)"'
step 'TensorFlow with CUDA' bash -c 'earshot backend install && earshot doctor tensorflow onnx'
echo "written to $report"
