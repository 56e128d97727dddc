import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { bundles } from './build.mjs'
import { dependencyFaults } from './dependencies.mjs'
import { checkFields } from './fields.mjs'
import { checkRules } from './rules.mjs'
import { checkSettings } from './settings.mjs'
import { checkTexts } from './texts.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const isQuick = process.argv.includes('--quick')

/** The result of one tool: its output, and whether it passed. `tool` is a command of a package, or a path in node_modules. */
function run(tool, args) {
  return new Promise((resolve) => {
    const child = spawn(join(root, 'node_modules', tool.includes('/') ? tool : `.bin/${tool}`), args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.on('error', (error) => resolve({ ok: false, output: error.message }))
    child.on('close', (code) => resolve({ ok: code === 0, output: Buffer.concat(chunks).toString() }))
  })
}

/** Passes only if the pattern finds the number of files read, and it is not zero. */
function readSome(result, pattern) {
  const count = Number(pattern.exec(result.output)?.[1] ?? 0)
  return count > 0 ? result : { ok: false, output: `${result.output}\nit read no file` }
}

/**
 * The compiler in Go takes a quarter of the processor time; with threads it takes twice that, and on two cores it is no
 * sooner ready. `typescript` is the one before it, whose API other tools read sources with.
 */
async function types(...options) {
  const result = await run('typescript-native/bin/tsc', ['--singleThreaded', '--listFiles', '--pretty', 'false', ...options])
  const files = result.output.split('\n').filter((line) => line.startsWith(join(root, 'src/')) && !line.includes('error TS'))
  const output = result.output
    .split('\n')
    .filter((line) => /error TS|^\s+\S/.test(line))
    .join('\n')
  return readSome({ ok: result.ok, output: `${output}\nread ${files.length}` }, /read (\d+)$/)
}

async function style() {
  return readSome(await run('biome', ['check', '--error-on-warnings', '.']), /Checked (\d+) file/)
}

async function layers(...options) {
  const result = await run('depcruise', [...options, '--config', '.dependency-cruiser.cjs', '--output-type', 'json'])
  let report
  try {
    report = JSON.parse(result.output)
  } catch {
    return { ok: false, output: result.output }
  }
  const { totalCruised, totalDependenciesCruised, violations, ruleSetUsed } = report.summary
  const why = new Map(ruleSetUsed.forbidden.map(({ name, comment }) => [name, comment]))
  const output = violations
    .map(({ rule, from, to }) => [`${rule.name}: ${from} -> ${to}`, why.get(rule.name)].filter(Boolean).join('\n  '))
    .join('\n')
  // a changed file may import nothing
  const read = totalCruised > 0 && (isQuick || totalDependenciesCruised > 0)
  return { ok: result.ok && read && violations.length === 0, output: read ? output : `${output}\nit read no module` }
}

async function deadCode() {
  const result = readSome(await run('knip', ['--no-progress', '--performance']), /getImportsAndExports +(\d+)/)
  // The timing table is requested only because it has the number of files read.
  return { ...result, output: result.output.replace(/\nName +size[\s\S]*?Total running time.*\n?/, '\n') }
}

const PROCESSES = /^src\/(git\/process\/spawner(-entry|-process)?|db\/postgres\/processes|cli\/workers\/parent)\.ts$/
const REDIRECTS = 'src/http/redirect.ts'
/** File names that say nothing of what is inside. A held text is one that waits for an administrator. */
const NAMELESS = /(?:^|\/|(?<!\/held)-)(?:parts|texts)\.tsx?$/
const ENVIRONMENT = new Set(['src/config.ts', 'src/git/process/environment.ts', 'src/db/postgres/server.ts'])

/** What SEC-172 forbids, read from the syntax tree so that neither comments nor strings count. */
async function forbidden() {
  const faults = []
  let files = 0
  for (const file of readdirSync(join(root, 'src'), { recursive: true })) {
    if (!/\.tsx?$/.test(file)) continue
    files++
    const path = `src/${file}`
    if (NAMELESS.test(path)) faults.push(`${path} name the file by what it holds`)
    const source = ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true)
    const report = (node, why) => faults.push(`${path}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${why}`)
    const visit = (node) => {
      if (ts.isStringLiteralLike(node) && /^(node:)?(child_process|cluster)$/.test(node.text) && !isTypeImport(node.parent) && !PROCESSES.test(path))
        report(node, 'only git/process/spawner*.ts, db/postgres/processes.ts and cli/workers/parent.ts start processes')
      if (ts.isStringLiteralLike(node) && /^(node:)?vm$/.test(node.text) && isModuleName(node) && path !== 'src/load.ts')
        report(node, 'only load.ts uses vm, to run the program itself')
      if (ts.isIdentifier(node) && node.text === 'eval' && ts.isCallExpression(node.parent)) report(node, 'no eval')
      if (ts.isIdentifier(node) && node.text === 'Function' && (ts.isNewExpression(node.parent) || ts.isCallExpression(node.parent)))
        report(node, 'no new Function')
      if (ts.isPropertyAssignment(node) && node.name.getText() === 'shell' && node.initializer.kind !== ts.SyntaxKind.FalseKeyword)
        report(node, 'no shell')
      if (ts.isPropertyAccessExpression(node) && node.getText() === 'process.env' && !ENVIRONMENT.has(path))
        report(node, 'only config.ts reads the environment')
      if (ts.isPropertyAccessExpression(node) && node.getText() === 'sql.raw' && !path.startsWith('src/db/'))
        report(node, 'SQL from text is built in db only')
      if (ts.isPropertyAccessExpression(node) && node.name.text === 'redirect' && ts.isCallExpression(node.parent) && path !== REDIRECTS)
        report(node, `only ${REDIRECTS} redirects (SEC-335)`)
      if (ts.isStringLiteralLike(node) && /^location$/i.test(node.text) && isHeaderSet(node.parent) && path !== REDIRECTS)
        report(node, `only ${REDIRECTS} redirects (SEC-335)`)
      if (ts.isPropertyAccessExpression(node) && node.getText() === 'URL.canParse') report(node, 'parseUrl: Node 20 and 22 answer wrongly')
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return { ok: faults.length === 0 && files > 0, output: files > 0 ? faults.join('\n') : 'it read no file' }
}

const isHeaderSet = (node) => ts.isCallExpression(node) && /\.(?:header|setHeader)$/.test(node.expression.getText())
const isModuleName = (node) => ts.isImportDeclaration(node.parent) || ts.isCallExpression(node.parent)
const isTypeImport = (node) => ts.isImportDeclaration(node) && node.importClause?.isTypeOnly === true

/** Every cited rule exists in docs/spec, once and with an anchor. */
async function rules() {
  const { rules, files, faults } = checkRules(root)
  const read = rules > 0 && files > 0
  return { ok: read && faults.length === 0, output: read ? faults.join('\n') : 'it read no rule or no file' }
}

/** A test sees the effect of each setting that has one. */
async function settings() {
  const { settings: read, faults } = checkSettings(root)
  return { ok: read > 0 && faults.length === 0, output: read > 0 ? faults.join('\n') : 'it read no setting' }
}

/** Every field that a form takes is shown by a page, or sent by it. */
async function fields() {
  const { fields: read, faults } = checkFields(root)
  return { ok: read > 0 && faults.length === 0, output: read > 0 ? faults.join('\n') : 'it read no field' }
}

/** Every text of a page is translated, in every language (WB-805). */
async function texts() {
  const { texts: read, faults } = checkTexts(root)
  return { ok: read > 0 && faults.length === 0, output: read > 0 ? faults.join('\n') : 'it read no text' }
}

/** Words that have a plainer one, or none. */
const WORDS = /\b(told|whoever|nobody|worn|he|him|his|himself|by who|(comes?|came|coming) to be|(makes?|made) good|whole of|of (its|their) own)\b/i
/** What is not written again: applied migrations, recorded data, and this file. */
const NOT_READ = /^migrations\/000[0-5]_|^scripts\/check\.mjs$|\.(br|png|ico|json|pub|key|pem)$|(^|\/)(node_modules|dist|\.\w+cache|__pycache__)\//
/** Files about the account `nobody` of Unix. */
const ABOUT_ACCOUNTS = new Set(['test/cli/account.long.test.ts', 'bench/pair.mjs'])

/** Tests, benches, SQL, scripts and documentation are in plain words. */
async function words() {
  const folders = ['test', 'testing', 'bench', 'scripts', 'docs', 'packaging', 'migrations', 'src/db/sql', '.ci']
  const paths = folders.flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, path)))
  const read = [...paths, ...readdirSync(root).filter((name) => /\.(md|yml|ts)$|^Dockerfile$/.test(name))].filter(
    (path) => !NOT_READ.test(path) && statSync(join(root, path)).isFile(),
  )
  const faults = read.flatMap((path) => {
    const lines = readFileSync(join(root, path), 'utf8').split('\n')
    return lines.flatMap((line, at) => {
      const text = path.endsWith('.md') ? line.replace(/`[^`]*`/g, '') : line
      const word = WORDS.exec(text)?.[0]
      return word && !(/nobody/i.test(word) && ABOUT_ACCOUNTS.has(path)) ? [`${path}:${at + 1} ${word}`] : []
    })
  })
  return { ok: faults.length === 0 && read.length > 0, output: read.length > 0 ? faults.join('\n') : 'it read no file' }
}

/** Comments name files that are there, and no doc comment hides the one before it; the first in a file may be about the file. */
async function comments() {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' }).split('\n')
  const read = files.filter((path) => /^(src|test|testing|bench|scripts)\/.*\.([cm]?[jt]s|tsx)$/.test(path) && existsSync(join(root, path)))
  const faults = read.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    const lineOf = (index) => text.slice(0, index).split('\n').length
    const hidden = [...text.matchAll(/\*\/[ \t]*\n\s*\/\*\*/g)].filter(({ index }) => /\/\*\*/.test(text.slice(0, text.lastIndexOf('/**', index))))
    const named = [...text.matchAll(/^[^'"`\n]*?(?:^\s*\*|\/\*\*|\/\/)(.*)$/gm)].flatMap(({ index, 1: comment }) =>
      [...comment.matchAll(/(?<![\w/.@-])(?:[\w-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:tsx?|mjs|sql)\b/g)].map(([name]) => ({ index, name })),
    )
    return [
      ...hidden.map(({ index }) => `${path}:${lineOf(index)} two doc comments in a row`),
      ...named
        .filter(({ name }) => !files.some((each) => each === name || each.endsWith(`/${name}`)))
        .map(({ index, name }) => `${path}:${lineOf(index)} names ${name}, which is not there`),
    ]
  })
  return { ok: faults.length === 0 && read.length > 0, output: read.length > 0 ? faults.join('\n') : 'it read no file' }
}

/** What runs is in `dependencies`, also when it is bundled, and nothing else. */
async function dependencies() {
  const { inputs } = await bundles()
  const faults = dependencyFaults(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')), inputs)
  const read = Object.keys(inputs).length > 0
  return { ok: read && faults.length === 0, output: read ? faults.join('\n') : 'it read no module' }
}

/** Runs a script that reads the endpoint declarations. */
async function operations(script) {
  const result = readSome(await run('tsx', [script]), /read (\d+) operations/)
  return { ...result, output: result.output.replace(/read \d+ operations/, '') }
}

/** Every operation, parameter, tag and schema of the reference has a description. */
const reference = () => operations('scripts/reference.mjs')

/** Every API operation has a row in bench/calls.mjs, and every row an operation. */
const calls = () => operations('scripts/calls.mjs')

/**
 * Format, types and layers of the files that differ from HEAD, all at once. Lint rules, which need the types of everything,
 * and cycles are left to the whole check.
 */
function quickChecks() {
  const list = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean)
  const changed = [...list('diff', '--name-only', '--diff-filter=d', '--relative', 'HEAD'), ...list('ls-files', '--others', '--exclude-standard')]
  const sources = changed.filter((path) => /^src\/.*\.tsx?$/.test(path))
  const nothing = { ok: true, output: '' }
  const format = ['check', '--linter-enabled=false', '--no-errors-on-unmatched', '--files-ignore-unknown=true', '--error-on-warnings', ...changed]
  const results = {
    format: changed.length > 0 ? run('biome', format) : nothing,
    types: types('--incremental', '--tsBuildInfoFile', 'node_modules/.cache/check/types.tsbuildinfo'),
    layers: sources.length > 0 ? layers(...sources, '--max-depth', '1') : nothing,
  }
  return Object.fromEntries(Object.entries(results).map(([name, result]) => [name, () => result]))
}

const allChecks = () => ({
  types,
  style,
  layers: () => layers('src'),
  'dead code': deadCode,
  dependencies,
  'forbidden things': forbidden,
  words,
  comments,
  rules,
  settings,
  fields,
  texts,
  reference,
  calls,
})

const checks = isQuick ? quickChecks() : allChecks()
let failed = 0
for (const [name, check] of Object.entries(checks)) {
  const { ok, output } = await check()
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'} ${name}\n`)
  if (!ok) {
    failed++
    process.stdout.write(`${output.trim().replaceAll(/^/gm, '       ')}\n`)
  }
}
process.stdout.write(`${Object.keys(checks).length - failed} passed, ${failed} failed\n`)
process.exitCode = failed > 0 ? 1 : 0
