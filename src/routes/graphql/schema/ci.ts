import { connection, PAGE } from './connections.js'

const STATES = `
  CREATED
  WAITING_FOR_RESOURCE
  PREPARING
  PENDING
  RUNNING
  SUCCESS
  FAILED
  CANCELING
  CANCELED
  SKIPPED
  MANUAL
  SCHEDULED`

export const ci = `
scalar CiPipelineID

type Pipeline {
  id: ID!
  iid: String!
  sha: String
  ref: String
  beforeSha: String
  status: PipelineStatusEnum!
  source: String
  coverage: Float
  duration: Int
  createdAt: Time!
  updatedAt: Time!
  startedAt: Time
  finishedAt: Time
  path: String
  active: Boolean!
  complete: Boolean!
  detailedStatus: DetailedStatus!
  user: UserCore
  project: Project
  "With the jobs of each: the first 500 of a pipeline, and 5000 of all that a query shows."
  stages(${PAGE}): CiStageConnection
  jobs(${PAGE}, statuses: [CiJobStatus!]): CiJobConnection
}

type DetailedStatus {
  text: String
  label: String
  group: String
  icon: String
  hasDetails: Boolean
  detailsPath: String
}

type CiStage {
  name: String
  status: String
  jobs(${PAGE}): CiJobConnection
}

type CiJob {
  id: JobID
  name: String
  status: CiJobStatus
  allowFailure: Boolean!
  createdAt: Time!
  queuedAt: Time
  startedAt: Time
  finishedAt: Time
  duration: Int
  coverage: Float
  createdByTag: Boolean!
  refName: String
  shortSha: String!
  tags: [String!]
  webPath: String
  active: Boolean!
  stage: CiStage
  detailedStatus: DetailedStatus
}

enum PipelineStatusEnum {${STATES}
}

enum CiJobStatus {${STATES}
}

enum PipelineScopeEnum {
  RUNNING
  PENDING
  FINISHED
  BRANCHES
  TAGS
}
${connection('Pipeline')}${connection('CiStage', { count: false })}${connection('CiJob')}`
