import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The package folder of a file below node_modules. */
const packageOf = (path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]

/** Names, versions, licences and their texts of all packages in a bundle, from esbuild's metafile. */
export function thirdParty(metafile, root) {
  const folders = new Set(Object.keys(metafile.inputs).map(packageOf).filter(Boolean))
  const notices = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
    const file = readdirSync(join(root, folder)).find((file) => /^licen[cs]e/i.test(file))
    const text = file ? readFileSync(join(root, folder, file), 'utf8').trim() : ''
    return { title: `${name} ${version} (${license ?? 'licence as below'})`, text }
  })
  const sorted = notices.sort((a, b) => (a.title < b.title ? -1 : 1))
  return ['Packages that are part of the program, with their licences.', ...sorted.map(({ title, text }) => `${title}\n\n${text}`)].join(
    `\n\n${'-'.repeat(72)}\n\n`,
  )
}
