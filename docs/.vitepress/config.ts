import { defineConfig } from 'vitepress';

/** The site that `npm run docs` builds into docs/.vitepress/dist. The build fails on a dead link. */
export default defineConfig({
  title: 'Earshot',
  description: 'Small decision policies over social-media threads',
  lang: 'en',
  // Templates, which are files of the repository and not pages.
  ignoreDeadLinks: [/\.\/deploy\//],
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorials', link: '/tutorials/your-own-threads' },
      { text: 'Reference', link: '/reference/metrics' },
      { text: 'Decisions', link: '/decisions/stop-agent' },
    ],
    sidebar: [
      {
        text: 'Tutorials',
        items: [
          { text: 'Your own threads', link: '/tutorials/your-own-threads' },
          { text: 'A language model on a budget', link: '/tutorials/language-model-on-a-budget' },
          { text: 'From machine labels to a trained model', link: '/tutorials/machine-labels' },
          { text: 'A sweep on several machines', link: '/tutorials/sweep-on-several-machines' },
          { text: 'A promise about early verdicts', link: '/tutorials/a-promise' },
          { text: 'From a run to a decision', link: '/from-run-to-decision' },
          { text: 'From your own code', link: '/from-your-own-code' },
        ],
      },
      {
        text: 'Guides',
        items: [
          { text: 'How to read a report', link: '/reading-a-report' },
          { text: 'Detectors side by side', link: '/detectors' },
          { text: 'Encoders', link: '/encoders' },
          { text: 'Sweeps', link: '/sweeps' },
          { text: 'Trackers', link: '/trackers' },
          { text: 'Endpoints', link: '/endpoints' },
          { text: 'When a language model misbehaves', link: '/language-models' },
          { text: 'Serving', link: '/serving' },
          { text: 'Scale', link: '/scale' },
          { text: 'Benchmarks', link: '/benchmarks' },
        ],
      },
      {
        text: 'Reference',
        items: [
          { text: 'Metrics', link: '/reference/metrics' },
          { text: 'Options: stop agent', link: '/reference/options-stop-agent' },
          { text: 'Options: selector', link: '/reference/options-selector' },
          { text: 'Options: detectors', link: '/reference/options-detectors' },
          { text: 'Options: sweep', link: '/reference/options-sweep' },
          { text: 'Options: detector', link: '/reference/options-detector' },
        ],
      },
      {
        text: 'Decisions',
        collapsed: true,
        items: ['house', 'stop-agent', 'selector', 'trainers', 'backends', 'bundles', 'dependencies'].map((page) => ({
          text: page,
          link: `/decisions/${page}`,
        })),
      },
    ],
  },
});
