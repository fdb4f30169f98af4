-- What each step leaves behind, by call site: on a usual rank, the most, and on how many ranks. Those count whose steps are
-- known.
with held as (
    select s.call_site, coalesce(h.left_per_step_bytes, 0) as bytes
    from ranks r
    cross join (select distinct call_site from sites_at_peak where left_per_step_bytes > 0) s
    left join sites_at_peak h on h.rank = r.rank and h.device = r.device and h.call_site = s.call_site
    where r.growth_per_step_bytes is not null),
placed as (
    select call_site, bytes, row_number() over (partition by call_site order by bytes) as place,
           count(*) over (partition by call_site) as all_ranks
    from held)
select call_site,
       max(case when 2 * place - all_ranks between 0 and 1 then bytes else 0 end) as median_left_bytes_per_step,
       max(bytes) as highest_left_bytes_per_step, sum(case when bytes > 0 then 1 else 0 end) as ranks
from placed
group by call_site
having max(bytes) > 0
order by median_left_bytes_per_step desc, highest_left_bytes_per_step desc, call_site
