-- The call sites whose allocations were live when their rank was at its peak: on how many ranks, and how they spread.
with placed as (
    select rank, device, event,
           row_number() over (partition by rank, device order by active_bytes desc, event) as place
    from events),
at_peak as (
    select a.rank, a.device, a.call_site, sum(a.requested_bytes) as bytes, count(*) as allocations
    from allocations a
    join placed p on p.rank = a.rank and p.device = a.device and p.place = 1
    where coalesce(a.alloc_event, 0) <= p.event
      and (a.free_completed_event is null or a.free_completed_event > p.event)
    group by a.rank, a.device, a.call_site)
select call_site, count(*) as ranks, min(bytes) as min_bytes, max(bytes) as max_bytes, sum(allocations) as allocations
from at_peak
group by call_site
order by max_bytes desc, call_site
