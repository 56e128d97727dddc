import { join, relative } from 'node:path'
import ts from 'typescript'

/**
 * The fields of all forms, and those that no page shows or sends. A form may show a field under a condition, or hand it
 * to a component, so what counts is that the sources name it somewhere as a field, by its declaration.
 */
export function checkFields(root) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const program = ts.createProgram([join(root, 'src/web/index.ts')], options)
  const checker = program.getTypeChecker()
  const isField = (type) => type.getProperties().some(({ name }) => name.startsWith('__@given@'))
  const declarationOf = (symbol) => symbol.declarations?.[0]

  const declared = new Map()
  const used = new Set()
  /** Notes the fields of a form, and of the records within it. */
  const declare = (type, record, place) => {
    for (const symbol of type.getProperties()) {
      const name = record === '' ? symbol.name : `${record}[${symbol.name}]`
      const of = checker.getTypeOfSymbol(symbol)
      if (!declarationOf(symbol)) continue
      if (isField(of)) declared.set(declarationOf(symbol), { name, place })
      else declare(of.getCallSignatures()[0]?.getReturnType() ?? of, name, place)
    }
  }
  const use = (record, names) => {
    for (const name of names) {
      const symbol = record.getProperty(name)
      if (symbol && isField(checker.getTypeOfSymbol(symbol))) used.add(declarationOf(symbol))
    }
  }
  const wordsOf = (type) => (type.isUnion() ? type.types : [type]).flatMap((each) => (each.isStringLiteral() ? [each.value] : []))

  const web = join(root, 'src/web/')
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(web))
  const walk = (node, visit) => {
    visit(node)
    ts.forEachChild(node, (child) => walk(child, visit))
  }
  for (const file of sources)
    walk(file, (node) => {
      if (!ts.isCallExpression(node) || node.expression.getText() !== 'fieldsOf' || node.arguments.length !== 2) return
      const { line } = file.getLineAndCharacterOfPosition(node.getStart())
      declare(checker.getTypeAtLocation(node), '', `${relative(root, file.fileName)}:${line + 1}`)
    })
  const names = new Set([...declared.values()].map(({ name }) => name.replace(/^.*\[|\]$/g, '')))
  for (const file of sources)
    walk(file, (node) => {
      if (ts.isPropertyAccessExpression(node) && names.has(node.name.text)) use(checker.getTypeAtLocation(node.expression), [node.name.text])
      if (ts.isElementAccessExpression(node))
        use(checker.getTypeAtLocation(node.expression), wordsOf(checker.getTypeAtLocation(node.argumentExpression)))
      if (!ts.isObjectBindingPattern(node)) return
      const bound = node.elements.map(({ propertyName, name }) => (propertyName ?? name).getText()).filter((name) => names.has(name))
      if (bound.length > 0) use(checker.getTypeAtLocation(node), bound)
    })
  const faults = [...declared].flatMap(([declaration, { name, place }]) =>
    used.has(declaration) ? [] : [`${place} no page shows the field ${name}`],
  )
  return { fields: declared.size, faults }
}
