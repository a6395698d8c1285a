/** The answers of `earshot init` to `?`. */
export const explanations = {
  threads:
    'A file of JSON Lines, one thread a line: its id, its label, and its posts with the claim first. `earshot data import` makes one of a table or a common data set.',
  task: 'The label of a thread that is decided: one of your own by its name, or a known one. rumor: whether it is one; veracity: true, false, unverified or non-rumor; rumor-veracity: true, false or unverified.',
  detector:
    'What judges the posts read so far. local: a small classifier that is trained on some of your threads; it costs nothing to ask. A detector file (.yaml) asks language models, which costs money at every post that is judged; their answers are kept.',
  baseURL:
    'Where the chat-completions protocol is spoken, usually ending in /v1: http://localhost:11434/v1 for Ollama, http://localhost:8000/v1 for vLLM, https://api.openai.com/v1, https://openrouter.ai/api/v1. docs/reference/endpoints.md has many others.',
  apiKeyEnv:
    'The name of a variable, not the key: the file never holds it. Set it in the shell before, as in `export OPENAI_API_KEY=…`. none for a server on this machine.',
  model: 'As the endpoint calls it; most list theirs at <address>/models.',
  encoder:
    'The local detector reads n-grams of words and characters. A sentence encoder knows meanings, too: it may help where labels are few, and takes time. Exported policies cannot carry it. `earshot detect <threads> --train` says whether it helps with your labels; docs/how-to/choose-an-encoder.md says where to get others.',
  goal: 'What weighs most: queries of the detector, being early, or being right. You can change it later: it only chooses settings in the file.',
  level:
    'A policy that stops early may predict something else than it would at the end of the thread. This is the largest share of threads in which that may happen; it holds with 90% confidence. More is earlier. Write other for an agent without a guarantee: one that saves queries, or is chosen by macro-F1 and delay.',
  name: 'The file that is written and the folder of the runs are called so. Letters, digits, dots, dashes and underscores.',
} as const;
