-- The ranks that ran out of memory, the first in time first: how often, and what the first request that failed asked for.
with failed as (
    select rank, device, time, bytes as requested_bytes, device_free_bytes, live_bytes, reserved_bytes, call_site,
           row_number() over (partition by rank, device order by event) as place,
           count(*) over (partition by rank, device) as ooms
    from events
    where action = 'oom')
select rank, device, ooms, requested_bytes, device_free_bytes, live_bytes, reserved_bytes, call_site
from failed
where place = 1
order by time nulls last, rank, device
