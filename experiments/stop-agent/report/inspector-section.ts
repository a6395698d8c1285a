import { html, type Markup } from '../../report/page/html.ts';
import type { InspectorData } from '../../report/page/page-data.ts';

/** Where the script builds the inspector, and what is said beside it. */
export function inspectorSection(data: InspectorData, notes: readonly string[]): Markup {
  const shortened = data.threads.filter(({ posts, texts }) => texts !== null && texts.length < posts).length;
  const { leftOutSeeds } = data;
  const all = [
    ...notes,
    ...(leftOutSeeds.length === 0
      ? []
      : [
          `Not here, so that the file stays below 5 MB: ${leftOutSeeds.length === 1 ? 'seed' : 'seeds'} ${leftOutSeeds.join(', ')}. The page of one run is written by earshot report <run> --html.`,
        ]),
    ...(shortened === 0
      ? []
      : [`Later posts of ${shortened} long threads are left out, so that the file stays below 5 MB.`]),
  ];
  return html`<p>Any thread, post by post: what the detector said, how likely the agent was to stop, what the experts would have done, and where each rule and agent decides.</p>
${all.length === 0 ? null : html`<ul class="notes">${all.map((note) => html`<li>${note}</li>`)}</ul>`}
<noscript><p class="warning">The threads are drawn by a script inside this file; allow it to run.</p></noscript>
<div id="inspector"></div>`;
}
