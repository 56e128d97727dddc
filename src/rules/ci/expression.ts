import type { RE2JS } from 're2js'
import { MAX_TOKENS } from './limits.js'
import { compilePattern, delimitedPattern } from './regex.js'
import type { Variable } from './types.js'

/** What an expression yields (CI-20). */
export type ExpressionValue = string | boolean | null

type Comparison = '==' | '!=' | '=~' | '!~'
type Operator = Comparison | '&&' | '||'
type Node =
  | { kind: 'variable'; name: string }
  | { kind: 'value'; value: string | null }
  | { kind: 'pattern'; pattern: RE2JS; source: string }
  | { kind: Operator; left: Node; right: Node }

export type Expression = Node

type Token = { kind: 'operand'; node: Node } | { kind: Operator | '(' | ')' }

const TOKEN = /\s*(?:(==|!=|=~|!~|&&|\|\||[()])|\$(\w+)|"([^"\n]*)"|'([^'\n]*)'|(null)(?!\w))/y
/** A pattern ends at the first slash without a backslash before it. */
const PATTERN = /\s*(\/(?:[^/\\\n]|\\.)+\/[ismU]*)/y

/** Reads an expression of `rules: if`; null if the syntax is wrong. */
export function parseExpression(text: string): Expression | null {
  const tokens = tokensOf(text.trimEnd())
  if (!tokens) return null
  let at = 0
  const peek = () => tokens[at]?.kind
  const operand = (): Node | null => {
    const token = tokens[at++]
    if (token?.kind === 'operand') return token.node
    if (token?.kind !== '(') return null
    const node = disjunction()
    return node && tokens[at++]?.kind === ')' ? node : null
  }
  const level = (operators: readonly string[], next: () => Node | null) => (): Node | null => {
    let left = next()
    for (let kind = peek(); left && kind !== undefined && operators.includes(kind); kind = peek()) {
      at++
      const right = next()
      left = right && { kind: kind as Operator, left, right }
    }
    return left
  }
  const conjunction = level(['&&'], level(['==', '!=', '=~', '!~'], operand))
  const disjunction = level(['||'], conjunction)
  const node = disjunction()
  return at === tokens.length ? node : null
}

function tokensOf(text: string): Token[] | null {
  const tokens: Token[] = []
  for (let from = 0; from < text.length; ) {
    if (tokens.length >= MAX_TOKENS) return null
    TOKEN.lastIndex = from
    const match = TOKEN.exec(text)
    if (match) {
      const [, operator, variable, double, single] = match
      if (operator !== undefined) tokens.push({ kind: operator as Operator | '(' | ')' })
      else if (variable !== undefined) tokens.push({ kind: 'operand', node: { kind: 'variable', name: variable } })
      else tokens.push({ kind: 'operand', node: { kind: 'value', value: double ?? single ?? null } })
      from = TOKEN.lastIndex
      continue
    }
    PATTERN.lastIndex = from
    const source = PATTERN.exec(text)?.[1]
    const pattern = source === undefined ? null : delimitedPattern(source)
    if (source === undefined || !pattern) return null
    tokens.push({ kind: 'operand', node: { kind: 'pattern', pattern, source } })
    from = PATTERN.lastIndex
  }
  return tokens
}

/**
 * The value of an expression. `&&` and `||` yield one of their operands, for which only null and false are not true; a
 * variable that is not set is null.
 */
export function evaluate(node: Node, variables: Map<string, Variable>): ExpressionValue {
  switch (node.kind) {
    case 'variable':
      return variables.get(node.name)?.value ?? null
    case 'value':
      return node.value
    case 'pattern':
      return node.source
    case '&&': {
      const left = evaluate(node.left, variables)
      return isTrue(left) ? evaluate(node.right, variables) : left
    }
    case '||': {
      const left = evaluate(node.left, variables)
      return isTrue(left) ? left : evaluate(node.right, variables)
    }
    case '==':
      return evaluate(node.left, variables) === evaluate(node.right, variables)
    case '!=':
      return evaluate(node.left, variables) !== evaluate(node.right, variables)
    case '=~':
      return matches(node.left, node.right, variables) === true
    case '!~':
      return matches(node.left, node.right, variables) !== true
  }
}

const isTrue = (value: ExpressionValue) => value !== null && value !== false

/** Whether a whole expression holds: an empty text does not, though it does within one. */
export function holds(node: Node, variables: Map<string, Variable>): boolean {
  const value = evaluate(node, variables)
  return isTrue(value) && value !== ''
}

/** Null if there is no text or no pattern. */
function matches(left: Node, right: Node, variables: Map<string, Variable>): boolean | null {
  const text = evaluate(left, variables)
  if (text === null) return null
  const pattern = right.kind === 'pattern' ? right.pattern : patternOf(evaluate(right, variables))
  return pattern ? pattern.test(String(text)) : null
}

/** A variable may hold `/re/`; any other text is a pattern as it is. */
function patternOf(value: ExpressionValue): RE2JS | null {
  if (typeof value !== 'string') return null
  return delimitedPattern(value) ?? compilePattern(value)
}
