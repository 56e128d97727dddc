const FORMAT = /^[\w*/${}. -]+$/
const MAX_LENGTH = 255

/** What is wrong with a scope (V-63). */
export function scopeFaults(scope: string): string[] {
  if (scope === '') return ["can't be blank"]
  if (scope.length > MAX_LENGTH) return [`is too long (maximum is ${MAX_LENGTH} characters)`]
  return FORMAT.test(scope) ? [] : ["can contain only letters, digits, '-', '_', '/', '$', '{', '}', '.', '*' and spaces"]
}

/** Whether what has a scope counts for an environment; null: for a job without one. In a scope `*` is any text. */
export function isInScope({ environment_scope: scope }: { environment_scope?: string | undefined }, environment: string | null): boolean {
  if (scope === undefined || scope === '*') return true
  if (environment === null) return false
  if (!scope.includes('*')) return scope === environment
  const [first = '', ...rest] = scope.split('*')
  const last = rest.pop() ?? ''
  if (!environment.startsWith(first) || !environment.endsWith(last) || environment.length < first.length + last.length) return false
  let at = first.length
  for (const part of rest) {
    const found = environment.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= environment.length - last.length
}
