/*
 * CLEF eRisk, https://erisk.irlab.org: one XML file for each subject, or one for each subject and chunk (subject1_1.xml, …), as
 *   <INDIVIDUAL><ID>subject1</ID><WRITING><TITLE/><DATE>2016-03-10 12:32:43</DATE><INFO/><TEXT>…</TEXT></WRITING>…</INDIVIDUAL>
 * and a truth file of lines "subject label". The structure is fixed, so no general XML is read.
 */
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { InputError } from '../../errors.ts';
import { withoutEntities } from '../../text/entities.ts';
import { badItem, eachOrSkip, orSkip, parseItem } from '../bad-item.ts';
import { readLines, readWholeText } from '../text-lines.ts';
import { type Thread, threadSchema } from '../thread.ts';
import { filesBelow } from './foreign-files.ts';
import type { ImportContext, Importer } from './importer.ts';
import { readTime } from './read-time.ts';

const idElement = /<ID>\s*([^<]*?)\s*<\/ID>/;
/** The subject's id is within these first bytes of a file. */
const headBytes = 4096;

export const eriskImporter: Importer = {
  name: 'erisk',
  description: 'CLEF eRisk: a thread is what one user wrote, in time order; --label names its label (default: risk)',
  expects:
    'folders with one XML file per subject or chunk, and the truth file (a .txt with "truth" in its name) in them or beside them',
  takes: ['label'],
  async *read(paths, options) {
    const { label: names = ['risk'] } = options;
    if (names.length !== 1)
      throw new InputError(`--label ${names.join(',')} gives ${names.length} names; a truth file has one label`);
    const files = await filesBelow(paths);
    const truth = await readTruth(files, options);
    const subjects = new Map<string, string[]>();
    // Chunk 10 comes after chunk 9.
    const inOrder = files
      .filter((file) => /\.xml$/i.test(file))
      .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    for (const file of inOrder) {
      const subject = await orSkip(options, () => subjectOf(file));
      if (subject !== null) subjects.set(subject, [...(subjects.get(subject) ?? []), file]);
    }
    yield* eachOrSkip(subjects, options, async ([subject, subjectFiles]) => {
      const value = truth.get(subject);
      if (value === undefined) options.count(`# subjects have no line in a truth file; they have no label ${names[0]}`);
      const thread = await readSubject({ subject, files: subjectFiles }, options);
      return thread && value !== undefined ? { ...thread, labels: { [names[0]]: value } } : thread;
    });
    const absent = [...truth.keys()].filter((subject) => !subjects.has(subject)).length;
    if (absent > 0) options.count('# subjects of the truth file have no XML file', absent);
  },
};

/** Labels by subject, as numbers if they are written as such. */
async function readTruth(files: readonly string[], options: ImportContext): Promise<Map<string, string | number>> {
  const truth = new Map<string, string | number>();
  for (const file of files.filter((name) => /truth.*\.txt$/i.test(basename(name))))
    for await (const { text, number } of readLines(file))
      orSkip(options, () => {
        const place = `${file}:${number}`;
        const [subject, label, ...rest] = text.trim().split(/\s+/);
        if (label === undefined || rest.length > 0)
          throw badItem(text, { place, reason: 'must be a subject and its label' });
        const value = /^\d+$/.test(label) ? Number(label) : label;
        const earlier = truth.get(subject);
        if (earlier !== undefined && earlier !== value)
          throw badItem(text, { place, reason: `${subject} has the label ${earlier} already` });
        truth.set(subject, value);
      });
  return truth;
}

/** The subject of a file, from its beginning. */
async function subjectOf(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    const head = buffer.toString('utf8', 0, bytesRead);
    const [, subject] = idElement.exec(head) ?? [];
    if (head.includes('<INDIVIDUAL>') && subject) return subject;
    throw badItem(head, { place: file, reason: 'does not begin with <INDIVIDUAL> and its <ID>' });
  } finally {
    await handle.close();
  }
}

/** Null for a subject that wrote nothing. */
async function readSubject(
  of: { subject: string; files: readonly string[] },
  options: ImportContext,
): Promise<Thread | null> {
  const writings: Awaited<ReturnType<typeof writingsIn>> = [];
  for (const file of of.files) {
    const earlier = new Set(writings.map(({ time, text }) => `${time} ${text}`));
    for (const writing of await writingsIn(file)) {
      if (writing.text === '') options.count('# writings have neither title nor text and were left out');
      else if (earlier.has(`${writing.time} ${writing.text}`))
        options.count('# writings stand in several files and were taken once');
      else writings.push(writing);
    }
  }
  if (writings.length === 0) {
    options.count('# subjects have no writing with a text and were left out');
    return null;
  }
  // A stable sort, so that writings of the same second keep their order.
  const posts = writings
    .sort((a, b) => Date.parse(a.time) - Date.parse(b.time))
    .map((writing, index) => ({ ...writing, id: `${of.subject}-${index + 1}`, author: of.subject }));
  return parseItem(threadSchema, { value: { id: of.subject, posts }, place: of.files.join(', ') });
}

async function writingsIn(file: string): Promise<{ readonly time: string; readonly text: string }[]> {
  const xml = await readWholeText(file);
  if (!/<\/INDIVIDUAL>\s*$/.test(xml))
    throw badItem(xml.slice(-40), { place: file, reason: 'breaks off before </INDIVIDUAL>' });
  return [...xml.matchAll(/<WRITING(?:\s[^>]*)?>(.*?)<\/WRITING>/gs)].map(([, writing], index) => {
    const place = `${file} writing ${index + 1}`;
    const date = element(writing, 'DATE').trim();
    // Without a zone: all times of a collection are in the same one.
    const read = readTime(date);
    if (typeof read === 'string') throw badItem(date, { place, reason: 'has no <DATE> such as 2016-03-10 12:32:43' });
    const parts = ['TITLE', 'TEXT'].map((name) => element(writing, name).trim());
    return { time: read.time, text: parts.filter((part) => part !== '').join('\n') };
  });
}

/** The text of an element; may be empty. */
function element(xml: string, name: string): string {
  const [, content = ''] = new RegExp(`<${name}(?:\\s[^>]*)?(?<!/)>(.*?)</${name}>`, 's').exec(xml) ?? [];
  const pieces = content.split(/<!\[CDATA\[(.*?)\]\]>/s);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : withoutEntities(piece))).join('');
}
