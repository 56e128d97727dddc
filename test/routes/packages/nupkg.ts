import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'

/** A `.nuspec` file with some metadata. */
export const nuspec = (id: string, version: string, more = '') =>
  `<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata><id>${id}</id><version>${version}</version><authors>One</authors><description>About &amp; more</description>${more}</metadata>
</package>`

/** An archive of these files. */
export async function zipOf(files: Record<string, string | Buffer>): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), name)
  zip.end()
  return buffer(zip.outputStream)
}

/** A NuGet package. */
export const nupkg = (id: string, version: string, more = '', files: Record<string, string> = {}) =>
  zipOf({ [`${id}.nuspec`]: nuspec(id, version, more), 'lib/netstandard2.0/x.dll': `${id} ${version}`, ...files })
