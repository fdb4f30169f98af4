-- Two ranks, 3 and 0, by call site: what each had live at its own peak, where that differs.
with sides as (
    select call_site,
           sum(case when rank = 0 then peak_bytes else 0 end) as other_bytes,
           sum(case when rank = 3 then peak_bytes else 0 end) as bytes
    from sites_at_peak
    where rank in (0, 3)
    group by call_site)
select call_site, other_bytes, bytes, bytes - other_bytes as change_bytes
from sides
where bytes <> other_bytes
order by abs(bytes - other_bytes) desc, call_site
