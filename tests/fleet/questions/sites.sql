-- What each call site holds when its rank is at its peak, from all allocations: on how many ranks, and how they spread. A rank
-- without it counts as holding nothing.
with at_peak as (
    select a.rank, a.device, a.call_site, sum(a.requested_bytes) as bytes
    from allocations a
    join ranks r on r.rank = a.rank and r.device = a.device and r.snapshot = a.snapshot
    where coalesce(a.alloc_event, 0) <= coalesce(r.peak_event, 0)
      and (a.free_completed_event is null or a.free_completed_event > coalesce(r.peak_event, 0))
    group by a.rank, a.device, a.call_site),
held as (
    select s.call_site, coalesce(p.bytes, 0) as bytes
    from ranks r
    cross join (select distinct call_site from at_peak) s
    left join at_peak p on p.rank = r.rank and p.device = r.device and p.call_site = s.call_site),
placed as (
    select call_site, bytes, row_number() over (partition by call_site order by bytes) as place,
           count(*) over (partition by call_site) as all_ranks
    from held)
select call_site, max(case when 2 * place - all_ranks between 0 and 1 then bytes else 0 end) as median_bytes,
       min(bytes) as lowest_bytes, max(bytes) as highest_bytes, sum(case when bytes > 0 then 1 else 0 end) as ranks
from placed
group by call_site
order by highest_bytes desc, call_site
