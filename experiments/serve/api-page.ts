import { z } from 'zod';

/** What the page shows of an OpenAPI document. */
const documentSchema = z.looseObject({
  info: z.looseObject({ title: z.string(), version: z.string(), description: z.string().default('') }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({
        summary: z.string().default(''),
        description: z.string().default(''),
        parameters: z
          .array(z.looseObject({ in: z.string(), name: z.string(), description: z.string().default('') }))
          .default([]),
        requestBody: z.unknown().optional(),
        responses: z.record(
          z.string(),
          z.looseObject({ description: z.string().default(''), content: z.unknown().optional() }),
        ),
      }),
    ),
  ),
});

/** An OpenAPI document as a page without scripts, so that it works behind any proxy and loads nothing from elsewhere. */
export function apiPage(openapi: unknown): string {
  const { info, paths } = documentSchema.parse(openapi);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const parameters = operation.parameters.map(
        (each) => `<li><code>${escaped(each.name)}</code> (${escaped(each.in)}) ${escaped(each.description)}</li>`,
      );
      const responses = Object.entries(operation.responses).map(
        ([status, { description, content }]) =>
          `<li><b>${escaped(status)}</b> ${escaped(description)}${status.startsWith('2') ? shown('answer', content) : ''}</li>`,
      );
      return `<section>
<h2><code>${method.toUpperCase()} ${escaped(path)}</code></h2>
<p><b>${escaped(operation.summary)}.</b> ${escaped(operation.description)}</p>
<ul>${parameters.join('')}</ul>
${shown('body', operation.requestBody)}
<ul>${responses.join('\n')}</ul>
</section>`;
    }),
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(info.title)} ${escaped(info.version)}</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #ccc; }
h2 { font-size: 1.1rem; }
pre { background: #f4f4f4; padding: 1rem; overflow: auto; max-height: 30rem; }
</style>
<h1>${escaped(info.title)} ${escaped(info.version)}</h1>
<p>${escaped(info.description)} The same as a document for programs: <a href="openapi.json">openapi.json</a>.</p>
${operations.join('\n')}
</html>
`;
}

function shown(what: string, value: unknown): string {
  if (value === undefined) return '';
  return `<details><summary>${what}</summary><pre>${escaped(JSON.stringify(value, null, 2))}</pre></details>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
