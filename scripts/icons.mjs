import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Icons of the pages, from Lucide (ISC licence). Run `node scripts/icons.mjs` after adding one. */
const NAMES = [
  'activity',
  'archive',
  'bell',
  'book',
  'book-open',
  'check',
  'chevron-down',
  'chevron-right',
  'circle-alert',
  'circle-check',
  'circle-dashed',
  'circle-dot',
  'circle-slash',
  'circle-x',
  'clock',
  'code',
  'columns-3',
  'copy',
  'download',
  'ellipsis',
  'eye',
  'feather',
  'file',
  'folder',
  'git-branch',
  'git-commit-horizontal',
  'git-fork',
  'git-merge',
  'git-pull-request',
  'git-pull-request-closed',
  'git-pull-request-draft',
  'globe',
  'history',
  'house',
  'info',
  'key',
  'link',
  'list',
  'list-todo',
  'loader-circle',
  'lock',
  'mail',
  'menu',
  'message-square',
  'milestone',
  'monitor',
  'moon',
  'package',
  'paperclip',
  'pencil',
  'plus',
  'refresh-cw',
  'rocket',
  'scale',
  'scissors',
  'search',
  'settings',
  'shield',
  'smile-plus',
  'star',
  'sun-medium',
  'tag',
  'trash',
  'triangle-alert',
  'user',
  'users',
  'workflow',
  'x',
]

const iconOf = (name) => {
  const text = readFileSync(new URL(`../node_modules/lucide-static/icons/${name}.svg`, import.meta.url), 'utf8')
  const inner = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(text.replace(/<!--[\s\S]*?-->/g, ''))?.[1] ?? ''
  return inner.replace(/\s*\n\s*/g, '').replace(/ \/>/g, '/>')
}

/** The text of the module with the icons. */
export const iconsModule = () => `// Made by scripts/icons.mjs from Lucide 1.62 (https://lucide.dev, ISC licence).

/** Name → markup of an icon in a box of 24 by 24, drawn with strokes. */
export const ICONS = {
${NAMES.map((name) => `  ${/-/.test(name) ? `'${name}'` : name}: '${iconOf(name)}',`).join('\n')}
} as const
`

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(new URL('../src/web/components/icons.ts', import.meta.url), iconsModule())
