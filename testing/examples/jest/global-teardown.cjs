module.exports = () => globalThis.roost.stop()
