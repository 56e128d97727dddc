import * as yauzl from 'yauzl'
import { invalidInput } from '../../failures.js'
import { readXml } from '../../rules/ci/reports/xml.js'
import { type NugetVersion, nugetVersion } from '../../rules/packages/nuget-version.js'

/** The most entries of an archive, and bytes of its description, which is parsed at once (PK-83). */
const MAX_ENTRIES = 20_000
const MAX_NUSPEC = 128 * 1_024
/** The most bytes of what is kept of a description. */
const MAX_KEPT = 64 * 1_024
const MAX_TEXT = 4_000

interface DependencyGroup {
  targetFramework?: string
  dependencies: { id: string; range: string }[]
}

/** What is in a NuGet package, by its own description. */
export interface Nuspec extends NugetVersion {
  name: string
  /** As clients read it. */
  entry: Record<string, unknown>
}

const NAME = /^\w+(?:[.-]\w+)*$/
const RANGE = /^[[(]?[\w.*+-]{0,100}(?:,[\w.*+-]{0,100})?[\])]?$/
const FRAMEWORK = /^[\w.,=+ -]{1,100}$/

/** Whether a NuGet package can be called so. */
export const isNugetName = (name: string): boolean => name.length <= 100 && NAME.test(name)

/** Reads the description in a package; 400 if the file is no package. */
export async function readNuspec(file: string): Promise<Nuspec> {
  const xml = await nuspecIn(file).catch((error: unknown) => {
    throw invalidInput(error instanceof Refusal ? error.message : 'package is no NuGet package')
  })
  let parsed: Parsed
  try {
    parsed = parse(xml)
  } catch {
    throw invalidInput('the .nuspec file is not well-formed')
  }
  return checked(parsed)
}

class Refusal extends Error {}

/** The text of the one `.nuspec` file beside the folders of an archive; nothing else is unpacked. */
function nuspecIn(file: string): Promise<string> {
  return new Promise((resolve, reject) => {
    yauzl.open(file, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error) return reject(error)
      const end = (work: () => void) => {
        zip.close()
        work()
      }
      const failed = (cause: Error) => end(() => reject(cause))
      let found: yauzl.Entry | undefined
      let entries = 0
      zip.on('error', failed)
      zip.on('entry', (entry: yauzl.Entry) => {
        if (++entries > MAX_ENTRIES) return failed(new Refusal(`a package may have ${MAX_ENTRIES} files`))
        if (/^[^/]+\.nuspec$/i.test(entry.fileName)) {
          if (found) return failed(new Refusal('a package may have one .nuspec file'))
          found = entry
        }
        zip.readEntry()
      })
      zip.on('end', () => {
        if (!found) return failed(new Refusal('the package has no .nuspec file'))
        if (found.uncompressedSize > MAX_NUSPEC) return failed(new Refusal(`the .nuspec file may have ${MAX_NUSPEC / 1_024} KiB`))
        // what is unpacked is never more than was announced
        zip.openReadStream(found, (fault, stream) => {
          if (fault) return failed(fault)
          const chunks: Buffer[] = []
          stream.on('data', (chunk: Buffer) => chunks.push(chunk))
          stream.once('error', failed)
          stream.once('end', () => end(() => resolve(new TextDecoder().decode(Buffer.concat(chunks)))))
        })
      })
      zip.readEntry()
    })
  })
}

interface Parsed {
  fields: Map<string, string>
  groups: DependencyGroup[]
  types: string[]
}

function parse(xml: string): Parsed {
  const [fields, groups, types] = [new Map<string, string>(), [] as DependencyGroup[], [] as string[]]
  const path: string[] = []
  let ungrouped: DependencyGroup | undefined
  let text = ''
  const isIn = (depth: number, ...names: string[]) =>
    path.length === depth && path[0] === 'package' && path[1] === 'metadata' && names.every((name, at) => path[at + 2] === name)
  readXml(xml, {
    open(name, attributes) {
      path.push(name)
      text = ''
      const dependency = () => ({ id: attributes['id'] ?? '', range: attributes['version'] ?? '' })
      if (isIn(4, 'dependencies', 'group')) {
        const { targetFramework } = attributes
        groups.push({ ...(targetFramework && { targetFramework }), dependencies: [] })
      } else if (isIn(5, 'dependencies', 'group', 'dependency')) groups.at(-1)?.dependencies.push(dependency())
      else if (isIn(4, 'dependencies', 'dependency')) {
        if (!ungrouped) {
          ungrouped = { dependencies: [] }
          groups.push(ungrouped)
        }
        ungrouped.dependencies.push(dependency())
      } else if (isIn(4, 'packageTypes', 'packageType')) types.push(attributes['name'] ?? '')
      else if (isIn(3, 'license') && attributes['type'] !== 'expression') path[2] = 'license file'
    },
    text(more) {
      text += more
    },
    close() {
      if (isIn(3) && !fields.has(path[2] as string)) fields.set(path[2] as string, text.trim())
      path.pop()
    },
  })
  return { fields, groups, types }
}

/** The description as clients are shown it; 400 for one that would keep them from reading the others. */
function checked({ fields, groups, types }: Parsed): Nuspec {
  const name = fields.get('id') ?? ''
  if (!isNugetName(name)) throw invalidInput('id is invalid')
  const version = nugetVersion(fields.get('version') ?? '')
  if (!version) throw invalidInput('version is invalid')
  if (types.some((type) => type.toLowerCase() === 'symbolspackage')) throw invalidInput('packages of symbols are not taken')
  for (const { targetFramework, dependencies } of groups) {
    if (targetFramework !== undefined && !FRAMEWORK.test(targetFramework)) throw invalidInput('targetFramework is invalid')
    for (const dependency of dependencies) {
      dependency.range = dependency.range.replace(/\s+/g, '')
      if (!isNugetName(dependency.id) || !RANGE.test(dependency.range)) throw invalidInput('dependency is invalid')
    }
  }
  const text = (field: string) => ({ [field]: fields.get(field)?.slice(0, MAX_TEXT) })
  const link = (field: string) => ({ [field]: isLink(fields.get(field)) ? fields.get(field) : undefined })
  const tags = fields
    .get('tags')
    ?.slice(0, MAX_TEXT)
    .split(/[\s,]+/)
    .filter(Boolean)
  const entry = {
    ...{ ...text('authors'), ...text('title'), ...text('description'), ...text('summary'), ...text('language') },
    ...{ ...link('projectUrl'), ...link('licenseUrl'), ...link('iconUrl') },
    ...(tags && tags.length > 0 && { tags }),
    ...(fields.get('license') && { licenseExpression: fields.get('license')?.slice(0, 255) }),
    ...(fields.get('requireLicenseAcceptance')?.toLowerCase() === 'true' && { requireLicenseAcceptance: true }),
    ...(groups.length > 0 && { dependencyGroups: groups }),
  }
  const kept = Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined && value !== ''))
  if (Buffer.byteLength(JSON.stringify(kept)) > MAX_KEPT) throw invalidInput(`the description of a version may have ${MAX_KEPT / 1_024} KiB`)
  return { ...version, name, entry: kept }
}

const isLink = (text: string | undefined) => text !== undefined && text.length <= 2_000 && /^https?:\/\/[^\s<>"]+$/i.test(text)
