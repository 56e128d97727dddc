/** Own templates for `include: template`, by the names that the original has for such ones (CI-60). */
export const TEMPLATES: ReadonlyMap<string, string> = new Map([
  [
    'Workflows/Branch-Pipelines.gitlab-ci.yml',
    `# Pipelines for branches and tags.
workflow:
  rules:
    - if: $CI_COMMIT_TAG
    - if: $CI_COMMIT_BRANCH
`,
  ],
  [
    'Workflows/MergeRequest-Pipelines.gitlab-ci.yml',
    `# Pipelines for merge requests, tags and the default branch.
workflow:
  rules:
    - if: $CI_MERGE_REQUEST_IID
    - if: $CI_COMMIT_TAG
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
`,
  ],
  [
    'Bash.gitlab-ci.yml',
    `# A job for each stage, to begin with.
image: busybox:latest

build1:
  stage: build
  script:
    - echo "Build the project here"

test1:
  stage: test
  script:
    - echo "Run the tests here"

deploy1:
  stage: deploy
  script:
    - echo "Deploy here"
  environment: production
`,
  ],
  [
    'Nodejs.gitlab-ci.yml',
    `image: node:lts

cache:
  key:
    files:
      - package-lock.json
  paths:
    - .npm/

test:
  stage: test
  script:
    - npm ci --cache .npm --prefer-offline
    - npm test
`,
  ],
  [
    'Python.gitlab-ci.yml',
    `image: python:latest

variables:
  PIP_CACHE_DIR: $CI_PROJECT_DIR/.cache/pip

cache:
  paths:
    - .cache/pip

test:
  stage: test
  script:
    - pip install -r requirements.txt
    - python -m pytest
`,
  ],
  [
    'Go.gitlab-ci.yml',
    `image: golang:latest

test:
  stage: test
  script:
    - go vet ./...
    - go test ./...

build:
  stage: build
  script:
    - go build ./...
`,
  ],
])
