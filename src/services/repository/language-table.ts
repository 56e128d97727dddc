import * as linguist from 'linguist-languages'

/** Maps file names to programming languages. */
export interface LanguageTable {
  /** The language of a file; null for data, prose and unknown files. */
  of(path: string): string | null
}

/**
 * Extensions that several languages share but that nearly always mean one of them, or (null) a kind that is not
 * counted. For others the first language in the list counts.
 */
const PREFERRED: Record<string, string | null> = {
  '.as': 'ActionScript',
  '.asm': 'Assembly',
  '.bas': 'BASIC',
  '.cl': 'OpenCL',
  '.cls': 'TeX',
  '.cs': 'C#',
  '.d': 'D',
  '.es': 'JavaScript',
  '.ex': 'Elixir',
  '.f': 'Fortran',
  '.for': 'Fortran',
  '.frag': 'GLSL',
  '.fs': 'F#',
  '.g': 'GAP',
  '.gd': 'GDScript',
  '.gs': 'JavaScript',
  '.h': 'C',
  '.hh': 'C++',
  '.html': 'HTML',
  '.inc': 'PHP',
  '.j': 'Objective-J',
  '.jq': 'jq',
  '.l': 'Lex',
  '.lisp': 'Common Lisp',
  '.lsp': 'Common Lisp',
  '.m': 'Objective-C',
  '.m4': 'M4',
  '.md': null,
  '.ml': 'OCaml',
  '.mo': 'Modelica',
  '.nu': 'Nushell',
  '.php': 'PHP',
  '.pl': 'Perl',
  '.pm': 'Perl',
  '.pp': 'Puppet',
  '.pro': 'QMake',
  '.r': 'R',
  '.re': 'Reason',
  '.rs': 'Rust',
  '.s': 'Assembly',
  '.sc': 'Scala',
  '.scm': 'Scheme',
  '.spec': 'Python',
  '.sql': null,
  '.st': 'Smalltalk',
  '.t': 'Perl',
  '.tpl': 'Smarty',
  '.ts': 'TypeScript',
  '.v': 'Verilog',
}

/** Files that are not written in the project: vendored code, and generated files. */
const NOT_OWN = /(^|\/)(node_modules|bower_components|vendor|vendors|third[-_]?party|Godeps|\.yarn)\/|\.min\.(js|css)$|(^|\/)(dist|docs?)\//

interface Described {
  readonly name: string
  readonly type: string
  /** The language that it counts for. */
  readonly group?: string
  readonly extensions?: readonly string[]
  readonly filenames?: readonly string[]
}

function load(data: Readonly<Record<string, Described>>): LanguageTable {
  const counted = Object.values(data).filter(({ type }) => type === 'programming' || type === 'markup')
  const byFilename = new Map<string, string>()
  const byExtension = new Map<string, string | null>()
  const add = (extension: string, name: string | null) => {
    if (!byExtension.has(extension)) byExtension.set(extension, name)
  }
  for (const [extension, name] of Object.entries(PREFERRED)) add(extension, name)
  for (const { name, group = name, extensions, filenames } of counted) {
    if (extensions?.[0]) add(extensions[0].toLowerCase(), group)
    for (const filename of filenames ?? []) if (!byFilename.has(filename)) byFilename.set(filename, group)
  }
  // extensions that come first in data and prose languages: `.json`, `.md`
  const others = new Set(
    Object.values(data)
      .filter((language) => !counted.includes(language))
      .flatMap(({ extensions }) => extensions?.slice(0, 1) ?? []),
  )
  for (const { name, group = name, extensions } of counted)
    for (const extension of extensions ?? []) if (!others.has(extension)) add(extension.toLowerCase(), group)
  return {
    of(path) {
      if (NOT_OWN.test(path)) return null
      const file = path.slice(path.lastIndexOf('/') + 1)
      const known = byFilename.get(file)
      if (known !== undefined) return known
      // the longest known extension: `.html.erb` before `.erb`
      for (let at = file.indexOf('.'); at >= 0; at = file.indexOf('.', at + 1)) {
        const found = byExtension.get(file.slice(at).toLowerCase())
        if (found !== undefined) return found
      }
      return null
    },
  }
}

/** Built from Linguist's data: programming and markup languages by file name, then by extension. */
export const languageTable = load(linguist)
