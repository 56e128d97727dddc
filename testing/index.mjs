import testing from './index.cjs'

export const { startRoost } = testing
