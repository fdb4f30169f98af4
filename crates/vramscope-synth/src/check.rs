//! Checks pickles in CPython for the invariants of real snapshots, for tests.

use crate::pickle::tests::python;

/// The invariants that hold in every genuine file, as a program for python3.
const CHECK: &str = r"
import sys, pickle
data = sys.stdin.buffer.read()
snapshot = pickle.loads(data)
if isinstance(snapshot, list):
    snapshot = {'segments': snapshot, 'device_traces': []}
unsigned = lambda address: address % 2**64
last = {}
live_blocks = {}
for s in snapshot['segments']:
    blocks, device = s['blocks'], s['device']
    assert last.get(device, -1) < unsigned(s['address']), 'segments sorted'
    last[device] = unsigned(s['address'])
    assert sum(b['size'] for b in blocks) == s['total_size'], 'blocks tile'
    size = lambda *states: sum(b['size'] for b in blocks if b['state'] in states)
    if 'allocated_size' in s:
        assert s['allocated_size'] == size('active_allocated'), 'allocated_size'
        assert s['active_size'] == size('active_allocated', 'active_pending_free'), 'active_size'
    at = s['address']
    for b in blocks:
        assert b.get('address', at) == at, 'block addresses'
        if b['state'] != 'inactive':
            live_blocks[device, at] = b.get('requested_size', b.get('history', [{}])[0].get('real_size'))
        at += b['size']
for device, trace in enumerate(snapshot['device_traces']):
    live, time = {}, 0
    for e in trace:
        assert e.get('time_us', time) >= time, 'time'
        time = e.get('time_us', time)
        if e['action'] == 'alloc':
            assert e['addr'] not in live, 'allocated twice'
            live[e['addr']] = e['size']
        if e['action'] == 'free_completed':
            live.pop(e['addr'], None)
    for address, size in live.items():
        assert live_blocks.get((device, address)) == size, f'live allocation {address:#x}'
print('fine', end='')
";

/// Asserts the invariants. Without python3 it only prints that it skips.
pub(crate) fn assert_consistent(bytes: &[u8], name: &str) {
    if let Some(verdict) = python(CHECK, bytes) {
        assert_eq!(verdict, "fine", "{name}");
    }
}
