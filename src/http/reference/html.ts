import MarkdownIt from 'markdown-it'
import { escapeHtml } from '../../lib/text/html.js'

type Json = Record<string, unknown>

interface Operation {
  operationId: string
  summary: string
  tags: string[]
}

interface Listed extends Operation {
  method: string
  path: string
}

/** The reference page: a list of all operations that needs no script, and the script that loads the rest. */
export function referencePage(document: Json, { assets, document: url }: { assets: string; document: string }): string {
  const { title, version, description } = document['info'] as { title: string; version: string; description: string }
  const tags = document['tags'] as { name: string; description: string }[]
  const operations = Object.entries(document['paths'] as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, ...operation })),
  )
  const sections = tags.map(({ name, description: text }) =>
    sectionOf(
      name,
      text,
      operations.filter((each) => each.tags[0] === name),
    ),
  )
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${escapeHtml(assets)}/page.css">
<script type="module" src="${escapeHtml(assets)}/page.js"></script>
</head>
<body data-document="${escapeHtml(url)}">
<header>
<a class="title" href="#">${escapeHtml(title)} API <small>${escapeHtml(version)}</small></a>
<label class="search"><span class="unseen">Search</span><input type="search" id="search" placeholder="Search ${operations.length} operations  ( / )" autocomplete="off"></label>
<label class="token"><span>Token</span><input type="password" id="token" placeholder="typed here, kept nowhere" autocomplete="off" spellcheck="false"></label>
</header>
<nav aria-label="Operations">
${sections.join('\n')}
<p id="nothing" hidden>No operation has this text.</p>
</nav>
<main id="main" tabindex="-1"><article id="introduction"><h1>${escapeHtml(title)} API</h1>
${new MarkdownIt().render(description)}
<p><a href="${escapeHtml(url)}">The OpenAPI document</a> of this page, for generators of clients.</p>
<noscript><p>Operations are shown by a script; without one, read the OpenAPI document.</p></noscript></article></main>
</body>
</html>
`
}

const sectionOf = (name: string, text: string, operations: Listed[]) => `<section>
<h2 title="${escapeHtml(text)}">${escapeHtml(name)}</h2>
<ul>${operations.map(linkTo).join('')}</ul>
</section>`

const linkTo = ({ method, path, operationId, summary }: Listed) =>
  `<li><a href="#${escapeHtml(operationId)}"><b class="${method}">${method.toUpperCase()}</b> <span>${escapeHtml(summary)}</span> <code>${escapeHtml(path)}</code></a></li>`
