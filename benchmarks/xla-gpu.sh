#!/usr/bin/env bash
# What XLA does on a machine with a GPU, in at most twelve minutes (LIMIT seconds), written to xla-report.md. It was rehearsed on the processor only.
#
#   benchmarks/xla-gpu.sh            with the network: the plugin of DEVICE (cuda13) is downloaded, and JAX unless python3 has it
#   WHEELS=<folder> benchmarks/xla-gpu.sh     without: from what `pip download --dest <folder> 'jax[cuda13]'` fetched elsewhere
#   PLUGIN=<file> benchmarks/xla-gpu.sh       a plugin that is there; without the network, that of python3's JAX is taken
#   DEVICE=cpu RUNS=1,4 ITERATIONS=2 MANY=8 SWEEP='--set experiment.agent.iterations=2' benchmarks/xla-gpu.sh     a rehearsal
#
# It needs Node 20 to 24, `npm ci`, and for JAX Python 3 with venv. A step that fails is in the report, and the others go on: what matters
# most comes first, and a step without time left is named. xla-report.log has all that the steps print.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
report=${REPORT:-xla-report.md} limit=${LIMIT:-720}
log=${report%.md}.log work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export EARSHOT_XLA=${EARSHOT_XLA:-$HOME/.cache/earshot/xla} NO_COLOR=1 work
device=${DEVICE:-cuda13} runs=${RUNS:-1,32,128} iterations=${ITERATIONS:-20}
: >"$report"
: >"$log"

# The first word is the most seconds of the step.
step() {
  local most=$1 title=$2 started=$SECONDS
  local left=$((limit - SECONDS))
  shift 2
  printf '\n## %s\n\n```\n' "$title" | tee -a "$report" "$log"
  if ((left < 10)); then echo 'no time was left' | tee -a "$report"
  else
    timeout --kill-after 15 "$((most < left ? most : left))" bash -c "$*" 2>&1 | tee -a "$log" | tail -n 40 | cut -c 1-400 | tee -a "$report"
    ((PIPESTATUS[0] == 0)) || echo "ended with ${PIPESTATUS[0]}; 124 and 137 are the step's time" | tee -a "$report"
  fi
  printf '```\n\n%s s\n' $((SECONDS - started)) | tee -a "$report"
}
earshot() { node experiments/cli/earshot.mjs "$@"; }
script() { node --import tsx "$@"; }

# Python with JAX: that of the machine, or one that is made.
python() { if [ -x "$work/jax/bin/python" ]; then "$work/jax/bin/python" "$@"; else python3 "$@"; fi; }
jax() {
  if [ -n "${WHEELS:-}" ]; then python3 -m venv "$work/jax" && python -m pip install --quiet --no-index --no-deps "$WHEELS"/*.whl
  elif ! python3 -c 'import jax' 2>/dev/null; then python3 -m venv "$work/jax" && python -m pip install --quiet "jax[$device]"; fi
  python -c 'import jax; print("JAX", jax.__version__, jax.devices())'
}
plugin_of_jax() { python -c 'import glob, jax_plugins; print(next(file for folder in jax_plugins.__path__ for file in glob.glob(folder + "/xla_*/xla_*_plugin.so")))'; }
install() {
  if [ -n "${PLUGIN:-}" ]; then earshot backend install xla --plugin "$PLUGIN"
  elif [ -n "${WHEELS:-}" ]; then earshot backend install xla --plugin "$(plugin_of_jax)"
  else earshot backend install xla --device "$device" || earshot backend install xla --plugin "$(plugin_of_jax)"; fi
}
together() { script benchmarks/xla-runs.ts --runs "$runs" --dimensions "$1" --iterations "$iterations"; }
jax_together() { for members in ${runs//,/ }; do timeout 100 "$(python -c 'import sys; print(sys.executable)')" benchmarks/jax-iteration.py "$1" "$members" alg 50; done; }
# Of 512 runs, where JAX holds all of the device's memory but 4 GiB.
too_large() {
  local total used
  if IFS=', ' read -r total used < <(nvidia-smi --query-gpu=memory.total,memory.used --format=csv,noheader,nounits) && python -c 'import jax'; then
    XLA_PYTHON_CLIENT_MEM_FRACTION=$(python -c "print(($total - $used - 4096) / $total)") python -c 'import jax, time; jax.numpy.ones(1).block_until_ready(); time.sleep(600)' &
    sleep 15
  fi
  script benchmarks/xla-runs.ts --runs "${MANY:-512}" --iterations 1
  local ended=$?
  jobs -p | xargs -r kill
  return $ended
}
# shellcheck disable=SC2086 # SWEEP may be several words
sweep() { time earshot sweep experiments/recipes/ratio-pareto.yaml --set backend=xla --jobs "$1" --no-html --runs "$work/runs-$1" ${SWEEP:-}; }
trainers() {
  for options in '{}' '{"algorithm":"behavior-cloning"}' '{"algorithm":"exact-policy-gradient"}' '{"algorithm":"settled"}' '{"algorithm":"dqn"}'; do
    echo "$options"; script tests/interop/xla-training.ts "$options" 4
  done
}
# A GPU is shared: four processes at once, for so long that they overlap.
processes() {
  for _ in 1 2 3 4; do script benchmarks/xla-runs.ts --runs "${runs##*,}" --iterations $((10 * iterations)) & done
  wait
}
# Into a folder that goes: with CUDA's libraries it takes gigabytes.
tensorflow() { EARSHOT_TENSORFLOW=$work/tensorflow bash -c 'earshot backend install && earshot doctor tensorflow onnx'; }
export device runs iterations
export -f earshot script python jax plugin_of_jax install together jax_together too_large sweep trainers processes tensorflow

step 20 'Machine' 'nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv; nproc; node --version; python3 --version'
step 240 'JAX' jax
step 300 'Install and try' install
step 180 'Runs together, 256 numbers a state' together 256
step 180 'The same in JAX' jax_together 256
step 60 'Device, memory, versions; one run beside a core' earshot doctor xla onnx
step 150 'Sweep: ratio-pareto, 45 trials, in four processes' sweep 4
step 150 'The same in one process' sweep 1
step 120 'A group that is too large' too_large
step 180 'Every trainer beside wasm: alone, together, resumed, with one that fails and one that diverges' trainers
step 120 'Four processes' processes
step 180 'Runs together, 1,024 numbers a state' together 1024
step 180 'The same in JAX' jax_together 1024
step 300 'TensorFlow with CUDA' tensorflow
echo "written to $report, all lines to $log"
