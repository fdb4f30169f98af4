-- The ranks that are far from the median rank, and in what: by the modified z-score of Iglewicz and Hoaglin, above 3.5, and by
-- more than 5 % of the median (of the median peak for what may be nearly nothing). The median of an even number is the
-- lower one of the two in the middle, that of distances the upper one.
with figures as (
    select rank, device, 'peak' as measure, peak_bytes as value from ranks
    union all select rank, device, 'reserved' as measure, peak_reserved_bytes as value from ranks
    union all select rank, device, 'at end' as measure, end_bytes as value from ranks
    union all select rank, device, 'gap at peak' as measure, gap_bytes as value from ranks
    union all select rank, device, 'scattered at peak' as measure, scattered_bytes as value from ranks
    union all select rank, device, 'growth per step' as measure,
                     case when growth_per_step_bytes < 0 then 0 else growth_per_step_bytes end as value from ranks
    union all select rank, device, 'retries' as measure, retries as value from ranks
    union all select rank, device, 'OOMs' as measure, ooms as value from ranks),
placed as (
    select rank, device, measure, value,
           row_number() over (partition by measure order by value) as place,
           count(*) over (partition by measure) as ranks
    from figures
    where value is not null),
medians as (
    select measure, value as median, ranks from placed where 2 * place - ranks between 0 and 1),
distances as (
    select p.rank, p.device, p.measure, p.value, m.median, m.ranks, abs(p.value - m.median) as distance,
           row_number() over (partition by p.measure order by abs(p.value - m.median)) as place
    from placed p join medians m on m.measure = p.measure),
spreads as (
    select measure, distance as spread from distances where 2 * place - ranks between 1 and 2),
notable as (
    select m.measure,
           case when m.measure in ('peak', 'reserved', 'at end') then 0.05 * m.median
                when m.measure in ('gap at peak', 'scattered at peak') then 0.05 * peak.median
                when m.measure = 'growth per step' and 0.05 * m.median < 1048576 then 1048576
                when m.measure = 'growth per step' then 0.05 * m.median
                else 0 end as least
    from medians m cross join (select median from medians where measure = 'peak') peak)
select d.rank, d.device, d.measure, d.value, d.median, s.spread
from distances d
join spreads s on s.measure = d.measure
join notable n on n.measure = d.measure
where d.ranks >= 3 and d.distance > n.least and 0.6745 * d.distance > 3.5 * s.spread
order by d.rank, d.device, d.measure
