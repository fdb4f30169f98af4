-- The requests that failed, first those that failed first.
select rank, device, event, bytes, device_free_bytes, active_bytes, reserved_bytes, call_site
from events
where action = 'oom'
order by rank, device, event
