import type { ComponentChildren } from 'preact'
import type { PageView } from '../page.js'
import { SidedLayout } from './settings.js'

const PAGES = [
  ['/admin', 'Overview'],
  ['/admin/users', 'Users'],
  ['/admin/groups', 'Groups'],
  ['/admin/projects', 'Projects'],
  ['/admin/application_settings', 'Settings'],
  ['/admin/request_limits', 'Limits of requests'],
  ['/admin/maintenance', 'Read-only mode'],
  ['/admin/broadcast_messages', 'Messages'],
  ['/admin/abuse_reports', 'Abuse reports'],
  ['/admin/held_texts', 'Held texts'],
  ['/admin/audit_log', 'Audit log'],
  ['/admin/jobs', 'Jobs'],
  ['/admin/hooks', 'System hooks'],
  ['/admin/applications', 'Applications'],
  ['/admin/sign_in_providers', 'Sign-in providers'],
] as const

interface Props {
  view: PageView
  /** The address of the page, or of the one above it. */
  at: (typeof PAGES)[number][0]
  title: string
  children: ComponentChildren
}

/** A page of the administration, with the others beside it. */
export const AdminLayout = (props: Props) => <SidedLayout label="Administration" pages={PAGES} {...props} />
