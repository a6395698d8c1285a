/*
 * Models think in several notations, and servers pass on what they do not recognise. Whatever a model wrote on the way
 * to its answer must never be read as the answer, so it is split off here, where a completion is read, and nowhere else.
 */

const TAG = '(?:seed:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)';
const OPENING = new RegExp(`<${TAG}>|\\[THINK\\]|◁think▷|<\\|begin_of_thought\\|>`, 'i');
const CLOSING = new RegExp(`</${TAG}>|\\[/THINK\\]|◁/think▷|<\\|end_of_thought\\|>`, 'gi');
/** https://cookbook.openai.com/articles/openai-harmony: only the final channel is meant for the user. */
const FINAL_CHANNEL = /<\|channel\|>\s*final\b[^<]*<\|message\|>/g;
/** What is left of the channels where a server drops the special tokens: "analysisWe need to …assistantfinalYes". */
const BARE_CHANNELS = /^\s*analysis[\s\S]*assistantfinal/;
const END_TOKENS = /\s*(?:<\|(?:im_end|eot_id|end|return|end_of_text|endoftext|end_of_solution)\|>|<\/s>)\s*$/;
const WRAPPED = /^\s*(?:<(answer|solution|final)>([\s\S]*)<\/\1>|<\|begin_of_solution\|>([\s\S]*))\s*$/i;

export interface SplitText {
  /** What the model says to whoever asked; empty where it never got that far. */
  readonly answer: string;
  /** Null where the text holds nothing but the answer. */
  readonly thinking: string | null;
}

/**
 * Splits the thinking off a model's text: tags such as `<think>`, also where only the closing one was written because the
 * template had opened it, or only the opening one because the answer never came; and the channels of the harmony format.
 * A text without any of these comes back as it is.
 */
export function splitThinking(text: string): SplitText {
  const { answer, thinking } = split(text);
  const ended = withoutEndTokens(answer);
  const wrapped = WRAPPED.exec(ended);
  return { answer: wrapped ? (wrapped[2] ?? wrapped[3]).trim() : ended, thinking };
}

/** Some servers pass on the token that ends a turn. */
export function withoutEndTokens(text: string): string {
  return text.replace(END_TOKENS, '');
}

function split(text: string): SplitText {
  if (text.includes('<|channel|>')) {
    const final = [...text.matchAll(FINAL_CHANNEL)].at(-1);
    const said = final === undefined ? '' : text.slice(final.index + final[0].length);
    // Where another channel follows, it was not final.
    if (final === undefined || said.includes('<|channel|>')) return { answer: '', thinking: text.trim() };
    const [answer] = said.split(/<\|(?:end|return|start)\|>/, 1);
    return { answer: answer.trim(), thinking: text.slice(0, final.index).trim() || null };
  }
  const bare = BARE_CHANNELS.exec(text);
  if (bare) return { answer: text.slice(bare[0].length).trim(), thinking: bare[0].trim() };
  const closing = [...text.matchAll(CLOSING)].at(-1);
  const end = closing === undefined ? 0 : closing.index + closing[0].length;
  const rest = text.slice(end);
  const isUnclosed = OPENING.test(rest);
  if (closing === undefined && !isUnclosed) return { answer: text, thinking: null };
  const before = closing === undefined ? '' : text.slice(0, closing.index).replace(OPENING, '').trim();
  // Whatever it said before, it had not done with thinking.
  const after = isUnclosed ? rest.replace(OPENING, '').trim() : '';
  return { answer: isUnclosed ? '' : rest.trim(), thinking: [before, after].filter(Boolean).join('\n') || null };
}
