import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DefaultTheme, defineConfig } from 'vitepress';

const docs = join(import.meta.dirname, '..');

/** The pages of a folder by their headings, without those that stand in the sidebar already. */
function pagesOf(folder: string, first: readonly string[] = []): DefaultTheme.SidebarItem[] {
  const names = readdirSync(join(docs, folder))
    .filter((name) => name.endsWith('.md') && !name.startsWith('['))
    .map((name) => name.slice(0, -3));
  const ordered = [...first, ...names.filter((name) => !first.includes(name)).sort()];
  return ordered.map((name) => {
    const [, text] = /^# (.+)$/m.exec(readFileSync(join(docs, folder, `${name}.md`), 'utf8')) ?? [];
    return { text: text ?? name, link: `/${folder}/${name}` };
  });
}

const options = ['stop-agent', 'selector', 'detectors', 'sweep', 'detector'].map((kind) => ({
  text: `Options: ${kind}`,
  link: `/reference/options-${kind}`,
}));

/** The site that `npm run docs` builds into docs/.vitepress/dist. The build fails on a dead link. */
export default defineConfig({
  title: 'Earshot',
  description: 'Small decision policies over social-media threads',
  lang: 'en',
  // Templates, which are files of the repository and not pages.
  ignoreDeadLinks: [/\/deploy\//],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorials', link: '/tutorials/your-own-threads' },
      { text: 'How-to', link: '/how-to/use-a-policy' },
      { text: 'Reference', link: '/reference/metrics' },
      { text: 'Explanation', link: '/explanation/results' },
    ],
    sidebar: [
      { text: 'Tutorials', items: pagesOf('tutorials', ['your-own-threads']) },
      { text: 'How-to', items: pagesOf('how-to', ['use-a-policy', 'read-a-report']) },
      { text: 'Reference', items: [...pagesOf('reference'), ...options] },
      { text: 'Algorithms', items: pagesOf('reference/algorithms', ['index']) },
      { text: 'Explanation', items: pagesOf('explanation', ['guarantee', 'results']) },
      { text: 'Decisions', collapsed: true, items: pagesOf('decisions') },
    ],
  },
});
