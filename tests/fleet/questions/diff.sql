-- Two ranks, 7 and 0, by call site: what each had live at its own peak, where that differs.
with placed as (
    select rank, device, event,
           row_number() over (partition by rank, device order by active_bytes desc, event) as place
    from events
    where rank in (0, 7)),
at_peak as (
    select a.rank, a.call_site, sum(a.requested_bytes) as bytes
    from allocations a
    join placed p on p.rank = a.rank and p.device = a.device and p.place = 1
    where coalesce(a.alloc_event, 0) <= p.event
      and (a.free_completed_event is null or a.free_completed_event > p.event)
    group by a.rank, a.call_site),
sides as (
    select call_site,
           sum(case when rank = 0 then bytes else 0 end) as one_bytes,
           sum(case when rank = 7 then bytes else 0 end) as other_bytes
    from at_peak
    group by call_site)
select call_site, one_bytes, other_bytes, other_bytes - one_bytes as change_bytes
from sides
where one_bytes <> other_bytes
order by abs(other_bytes - one_bytes) desc, call_site
