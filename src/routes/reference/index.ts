import type { Examples, Reference, Section } from '../../http/openapi/document.js'
import { glossary } from './glossary.js'
import { plainRoutes, plainTags } from './plain.js'

const INTRODUCTION = `The v4 REST API of a Roost server: its endpoints, parameters and responses.

- **Tokens** are sent as \`PRIVATE-TOKEN\` or as \`Authorization: Bearer\`. Calls without one see public data.
- **Administrators** act as another user on any call with \`sudo\`, an id or username, in the query, the body or a
  \`Sudo\` header. The token needs scope \`sudo\` or \`api\`.
- **Parameters** of GET and DELETE are in the query, others in a JSON or form body. A list is \`name[]=1&name[]=2\`, also
  \`name=1&name=2\`; a map is \`name[key]=value\`. Times are ISO 8601, days \`YYYY-MM-DD\`.
- **Lists** are paginated by \`page\` and \`per_page\`; response headers have the totals and links to other pages.
- **Errors** are JSON with \`message\` or \`error\`. Any call can also fail with 414 for a URL above 8 KiB, or with
  431 for headers above 16 KiB.
- **Git** is at \`/<full path of the project>.git\` and on the SSH port.`

/** The content of the API reference; the examples are read when it is served. */
export const referenceOf = (sections: Section[], examples: Examples): Reference => ({
  sections,
  plain: plainRoutes,
  plainTags,
  glossary,
  examples,
  introduction: INTRODUCTION,
})
