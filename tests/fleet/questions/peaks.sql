-- How high each rank peaks, the highest first, from all events.
select rank, device, max(live_bytes) as peak_bytes, max(reserved_bytes) as reserved_max_bytes,
       sum(case when action = 'oom' then 1 else 0 end) as ooms
from events
group by rank, device
order by peak_bytes desc, rank, device
