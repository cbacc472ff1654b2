/* DCQCN's reaction point (Zhu et al. 2015, section 3): a notice cuts the rate by alpha / 2 and raises alpha; without notices alpha
 * falls, and the rate rises once per timer period and once per byte count: half-way back to the target (fast recovery), then the target
 * itself rises by R_AI, and by R_HAI when both counters are past F. Timers are read when a packet is sent: a rate in between is
 * used by nobody. */
#include "models/packet/engine.h"

static double smaller(double a, double b) { return a < b ? a : b; }

static void rise(const pw_dcqcn *d, rate_run *r) {
    int64_t most = r->by_timer > r->by_bytes ? r->by_timer : r->by_bytes, least = r->by_timer < r->by_bytes ? r->by_timer : r->by_bytes;
    if (most >= d->fast_rounds)
        r->target_Bps = smaller(r->line_Bps, r->target_Bps + (least > d->fast_rounds ? (double)(least - d->fast_rounds) * d->hyper_Bps
                                                                                     : d->additive_Bps));
    r->now_Bps = smaller(r->line_Bps, (r->target_Bps + r->now_Bps) / 2);
}

static void advance(run *x, rate_run *r, pw_time now) {
    const pw_dcqcn *d = &x->desc->dcqcn;
    pw_time alpha_step = pw_sim_ticks(x->sim, d->alpha_interval_s), timer_step = pw_sim_ticks(x->sim, d->timer_s);
    while (r->alpha_at <= now) {
        r->alpha *= 1 - d->gain;
        r->alpha_at += alpha_step;
    }
    while (r->timer_at <= now) {
        if (r->now_Bps >= r->line_Bps) { /* nothing left to rise to: skip to the present */
            r->timer_at += (now - r->timer_at) / timer_step * timer_step;
        }
        r->by_timer++;
        rise(d, r);
        r->timer_at += timer_step;
    }
}

void dcqcn_start(run *x, uint32_t index) {
    const pw_dcqcn *d = &x->desc->dcqcn;
    rate_run *r = &x->rates[index];
    pw_time now = pw_sim_now(x->sim);
    double line_Bps = x->flows[index].ways_Bps;
    *r = (rate_run){.now_Bps = line_Bps, .target_Bps = line_Bps, .line_Bps = line_Bps, .alpha = 1, .bytes = d->byte_counter,
                    .alpha_at = now + pw_sim_ticks(x->sim, d->alpha_interval_s), .timer_at = now + pw_sim_ticks(x->sim, d->timer_s)};
    flow_can_send(x, index, now);
}

pw_time dcqcn_sent(run *x, uint32_t index, uint32_t bytes, pw_time at) {
    const pw_dcqcn *d = &x->desc->dcqcn;
    rate_run *r = &x->rates[index];
    advance(x, r, at);
    r->bytes -= bytes;
    if (r->bytes <= 0) {
        r->bytes += d->byte_counter;
        r->by_bytes++;
        rise(d, r);
    }
    return at + pw_sim_ticks(x->sim, bytes / r->now_Bps);
}

static void slow_down(pw_sim *sim, void *object, uint64_t index) {
    run *x = object;
    const pw_dcqcn *d = &x->desc->dcqcn;
    rate_run *r = &x->rates[index];
    pw_time now = pw_sim_now(sim);
    if (x->flows[index].finished) return;
    advance(x, r, now);
    r->target_Bps = r->now_Bps;
    r->now_Bps *= 1 - r->alpha / 2;
    if (r->now_Bps < d->least_Bps) r->now_Bps = smaller(d->least_Bps, r->line_Bps);
    r->alpha = (1 - d->gain) * r->alpha + d->gain;
    r->by_timer = r->by_bytes = 0;
    r->bytes = d->byte_counter;
    r->alpha_at = now + pw_sim_ticks(sim, d->alpha_interval_s);
    r->timer_at = now + pw_sim_ticks(sim, d->timer_s);
}

void dcqcn_notice(run *x, uint32_t index) {
    flow_run *f = &x->flows[index];
    pw_time now = pw_sim_now(x->sim);
    if (now < f->notice_at) return;
    f->notice_at = now + pw_sim_ticks(x->sim, x->desc->dcqcn.notice_interval_s);
    pw_event_after(x->sim, f->control, slow_down, x, index);
}
