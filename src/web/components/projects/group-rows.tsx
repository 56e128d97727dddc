import type { ComponentChildren } from 'preact'
import { INTERNAL, PUBLIC } from '../../../access/can.js'
import type { GroupRecord } from '../../../services/groups/list.js'
import { t } from '../../language/language.js'
import { inUrl } from '../../links.js'
import type { PageView } from '../../page.js'
import { Badge, Row, Rows } from '../list.js'

export const GroupRows = ({ view, groups, empty }: { view: PageView; groups: GroupRecord[]; empty: ComponentChildren }) => (
  <Rows empty={empty}>
    {groups.map(({ id, full_path, path, name, description, visibility }) => (
      <Row key={id}>
        <span>
          <a href={`${view.links.prefix}/groups/${inUrl(full_path)}`}>
            {full_path !== path && <span class="dim">{full_path.slice(0, -path.length - 1)} / </span>}
            <strong>{name}</strong>
          </a>{' '}
          {visibility !== PUBLIC && <Badge>{visibility === INTERNAL ? t('Internal') : t('Private')}</Badge>}
        </span>
        {description && <span class="dim">{description}</span>}
      </Row>
    ))}
  </Rows>
)
