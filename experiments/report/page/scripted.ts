import { html, type Markup } from './html.ts';

/** Where the page's script builds something from the page's data. */
export function scripted(id: 'inspector' | 'items' | 'transcripts'): Markup {
  return html`<noscript><p class="warning">This is drawn by a script inside the file; allow it to run.</p></noscript>
<div id="${id}"></div>
`;
}
