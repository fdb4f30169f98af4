-- The peak of each rank, and when it was reached first; the highest first.
with placed as (
    select rank, device, event, active_bytes, reserved_bytes,
           row_number() over (partition by rank, device order by active_bytes desc, event) as place
    from events)
select rank, device, active_bytes as peak_bytes, reserved_bytes, event as peak_event
from placed
where place = 1
order by peak_bytes desc, rank, device
