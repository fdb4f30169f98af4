-- The ranks whose peak is far from that of the median rank: by the modified z-score of Iglewicz and Hoaglin, above 3.5, and
-- by more than 5 %. The median of an even number is the lower one of the two in the middle.
with peaks as (
    select rank, device, max(active_bytes) as peak_bytes from events group by rank, device),
placed as (
    select peak_bytes, row_number() over (order by peak_bytes) as place, count(*) over () as ranks from peaks),
middle as (
    select peak_bytes as median_bytes from placed where 2 * place - ranks between 0 and 1),
distances as (
    select rank, device, peak_bytes, median_bytes, abs(peak_bytes - median_bytes) as distance_bytes
    from peaks cross join middle),
placed_distances as (
    select distance_bytes, row_number() over (order by distance_bytes) as place, count(*) over () as ranks
    from distances),
usual as (
    select distance_bytes as usual_bytes from placed_distances where 2 * place - ranks between 0 and 1)
select rank, device, peak_bytes, median_bytes, peak_bytes - median_bytes as change_bytes
from distances cross join usual
where 0.6745 * distance_bytes > 3.5 * usual_bytes and distance_bytes > 0.05 * median_bytes
order by distance_bytes desc, rank, device
