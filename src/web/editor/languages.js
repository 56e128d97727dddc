// The languages of the editor, by the name of a file; each is loaded when a file has it.
import { StreamLanguage } from '@codemirror/language'

const clike = () => import('@codemirror/legacy-modes/mode/clike')
const css = () => import('@codemirror/legacy-modes/mode/css')
const javascript = () => import('@codemirror/legacy-modes/mode/javascript')
const xml = () => import('@codemirror/legacy-modes/mode/xml')

/** What loads a mode, its name there, and the endings or names of the files that have it. */
const MODES = [
  [clike, 'c', 'c h'],
  [clike, 'cpp', 'cc cpp cxx hh hpp hxx ino'],
  [clike, 'csharp', 'cs'],
  [clike, 'dart', 'dart'],
  [clike, 'java', 'java'],
  [clike, 'kotlin', 'kt kts'],
  [clike, 'objectiveC', 'm mm'],
  [clike, 'scala', 'scala sbt'],
  [() => import('@codemirror/legacy-modes/mode/clojure'), 'clojure', 'clj cljs cljc edn'],
  [() => import('@codemirror/legacy-modes/mode/cmake'), 'cmake', 'cmake cmakelists.txt'],
  [css, 'css', 'css'],
  [css, 'less', 'less'],
  [css, 'sCSS', 'scss'],
  [() => import('@codemirror/legacy-modes/mode/diff'), 'diff', 'diff patch'],
  [() => import('@codemirror/legacy-modes/mode/dockerfile'), 'dockerFile', 'dockerfile containerfile'],
  [() => import('@codemirror/legacy-modes/mode/erlang'), 'erlang', 'erl hrl'],
  [() => import('@codemirror/legacy-modes/mode/go'), 'go', 'go'],
  [() => import('@codemirror/legacy-modes/mode/groovy'), 'groovy', 'groovy gradle jenkinsfile'],
  [() => import('@codemirror/legacy-modes/mode/haskell'), 'haskell', 'hs'],
  [javascript, 'javascript', 'js mjs cjs jsx'],
  [javascript, 'json', 'json jsonc webmanifest map'],
  [javascript, 'typescript', 'ts mts cts tsx'],
  [() => import('@codemirror/legacy-modes/mode/julia'), 'julia', 'jl'],
  [() => import('@codemirror/legacy-modes/mode/lua'), 'lua', 'lua'],
  [() => import('@codemirror/legacy-modes/mode/nginx'), 'nginx', 'nginx nginx.conf'],
  [() => import('@codemirror/legacy-modes/mode/perl'), 'perl', 'pl pm t'],
  [() => import('@codemirror/legacy-modes/mode/powershell'), 'powerShell', 'ps1 psm1'],
  [() => import('@codemirror/legacy-modes/mode/properties'), 'properties', 'properties ini cfg conf env editorconfig gitconfig'],
  [() => import('@codemirror/legacy-modes/mode/protobuf'), 'protobuf', 'proto'],
  [() => import('@codemirror/legacy-modes/mode/python'), 'python', 'py pyi'],
  [() => import('@codemirror/legacy-modes/mode/r'), 'r', 'r'],
  [() => import('@codemirror/legacy-modes/mode/ruby'), 'ruby', 'rb gemspec rake gemfile rakefile podfile vagrantfile'],
  [() => import('@codemirror/legacy-modes/mode/rust'), 'rust', 'rs'],
  [() => import('@codemirror/legacy-modes/mode/shell'), 'shell', 'sh bash zsh ksh bashrc zshrc profile'],
  [() => import('@codemirror/legacy-modes/mode/sql'), 'standardSQL', 'sql'],
  [() => import('@codemirror/legacy-modes/mode/stex'), 'stex', 'tex sty cls'],
  [() => import('@codemirror/legacy-modes/mode/swift'), 'swift', 'swift'],
  [() => import('@codemirror/legacy-modes/mode/toml'), 'toml', 'toml'],
  [xml, 'html', 'html htm xhtml vue svelte'],
  [xml, 'xml', 'xml svg xsd xsl plist csproj props'],
  [() => import('@codemirror/legacy-modes/mode/yaml'), 'yaml', 'yml yaml'],
]
const byName = new Map(MODES.flatMap(([load, mode, names]) => names.split(' ').map((name) => [name, { load, mode }])))

const MARKDOWN = /\.(?:md|markdown|mdown|mkdn?)$/i
export const isMarkdown = (path) => MARKDOWN.test(path)

/** What an editor needs for the language of a file; nothing for an unknown one. */
export async function languageOf(path) {
  if (isMarkdown(path)) return (await import('./markdown.js')).markdown
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const found = byName.get(name) ?? byName.get(name.slice(name.lastIndexOf('.') + 1))
  return found ? StreamLanguage.define((await found.load())[found.mode]) : []
}
