-- What was allocated while it was recorded, and never freed: by call site, over all ranks.
select call_site, count(distinct rank) as ranks, count(*) as allocations, sum(requested_bytes) as bytes
from allocations
where alloc_event is not null and free_completed_event is null
group by call_site
order by bytes desc, call_site
