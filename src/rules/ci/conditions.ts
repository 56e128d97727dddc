import { expandVariables, valuesOf } from './expand-variables.js'
import { type Expression, holds, parseExpression } from './expression.js'
import { anyMatches } from './globs.js'
import type { CompiledRule, Variable } from './types.js'

/** What rules are asked about. */
export interface Facts {
  /** Paths that differ, by the ref to compare with (null: as usual); null if there is nothing to compare with. */
  changedPaths(compareTo: string | null): readonly string[] | null
  /** Paths of files; null if there are too many. */
  tree(): readonly string[] | null
}

type Clause = Pick<CompiledRule, 'if' | 'changes' | 'exists'>

/** Answers conditions (CI-20 to CI-24); what many jobs share is worked out once. */
export class Conditions {
  readonly #expressions = new Map<string, Expression | null>()
  readonly #answers = new Map<string, boolean>()

  constructor(private readonly facts: Facts) {}

  /** The first rule all of whose clauses hold; null if there is none. */
  firstOf<Rule extends Clause>(rules: readonly Rule[], variables: readonly Variable[]): Rule | null {
    const values = valuesOf(variables)
    return rules.find((rule) => this.#holds(rule, values)) ?? null
  }

  expressionHolds(text: string, values: Map<string, Variable>): boolean {
    let expression = this.#expressions.get(text)
    if (expression === undefined) {
      expression = parseExpression(text)
      this.#expressions.set(text, expression)
    }
    return expression !== null && holds(expression, values)
  }

  /** Without anything to compare with every path counts as changed. */
  changesHold(patterns: readonly string[], compareTo: string | null, values: Map<string, Variable>): boolean {
    return this.#any('changes', patterns, values, compareTo === null ? null : expandVariables(compareTo, values))
  }

  #holds(rule: Clause, values: Map<string, Variable>): boolean {
    if (rule.if !== null && !this.expressionHolds(rule.if, values)) return false
    if (rule.changes && !this.changesHold(rule.changes.paths, rule.changes.compare_to, values)) return false
    return rule.exists === null || this.#any('exists', rule.exists, values, null)
  }

  #any(kind: 'changes' | 'exists', patterns: readonly string[], values: Map<string, Variable>, compareTo: string | null): boolean {
    const expanded = patterns.map((each) => expandVariables(each, values))
    const key = JSON.stringify([kind, compareTo, expanded])
    let answer = this.#answers.get(key)
    if (answer === undefined) {
      const paths = kind === 'changes' ? this.facts.changedPaths(compareTo) : this.facts.tree()
      answer = paths === null || anyMatches(expanded, paths, kind)
      this.#answers.set(key, answer)
    }
    return answer
  }
}
