/** The settings that restrict the domains of e-mail addresses. */
export interface DomainRules {
  domain_blacklist_enabled: boolean | null
  domain_blacklist: readonly string[] | null
  domain_whitelist: readonly string[] | null
}

/**
 * What is wrong with the domain of a normalised address (ML-21); the allowlist takes precedence over the blocklist.
 * Null if the domain is allowed.
 */
export function domainFault(email: string, { domain_blacklist_enabled, domain_blacklist, domain_whitelist }: DomainRules): string | null {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  const matchesAny = (patterns: readonly string[] | null) => (patterns ?? []).some((pattern) => matchesPattern(pattern.trim().toLowerCase(), domain))
  if ((domain_whitelist ?? []).length > 0) return matchesAny(domain_whitelist) ? null : 'domain is not authorized for sign-up'
  return domain_blacklist_enabled && matchesAny(domain_blacklist) ? 'is not from an allowed domain.' : null
}

/** Whether a text matches a pattern, in which `*` stands for any text; without backtracking. */
function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return pattern === text
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false
  let at = first.length
  const end = text.length - last.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
