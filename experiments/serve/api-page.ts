import { z } from 'zod';
import { html } from '../report/page/html.ts';

const documentSchema = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        summary: z.string(),
        description: z.string().default(''),
        parameters: z.array(z.object({ name: z.string(), description: z.string().default('') })).default([]),
        requestBody: z.unknown().optional(),
        responses: z.unknown(),
      }),
    ),
  ),
});

/** An OpenAPI document as a page without scripts and external resources, so that it works behind any proxy. */
export function apiPage(openapi: unknown): string {
  const { info, paths } = documentSchema.parse(openapi);
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { summary, description, parameters, requestBody, responses }]) => html`<tr>
<td><code>${method.toUpperCase()} ${path}</code></td>
<td><b>${summary}.</b> ${description}
<ul>${parameters.map((each) => html`<li><code>${each.name}</code> ${each.description}</li>`)}</ul>
<details><summary>body and answers</summary><pre>${JSON.stringify({ requestBody, responses }, null, 2)}</pre></details></td>
</tr>
`,
    ),
  );
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${info.title} ${info.version}</title>
<style>
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
td { border-top: 1px solid #ccc; padding: 0.5rem; vertical-align: top; }
pre { background: #f4f4f4; padding: 1rem; overflow: auto; max-height: 30rem; }
</style>
<h1>${info.title} ${info.version}</h1>
<p>${info.description} The same as a document for programs: <a href="openapi.json">openapi.json</a>.</p>
<table>
${routes}
</table>
</html>
`.markup;
}
