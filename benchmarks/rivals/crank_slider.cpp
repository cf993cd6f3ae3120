// The crank-slider by hand: 7 absolute coordinates, 6 constraints, the limit that generated code is compared with.
//
// One acceleration: rows J and biases gamma of the six constraints, Schur complement S = J M^-1 J^T factorised as
// L D L^T in the order of the rows (the pattern has no fill: rows 5 and 6 never meet rows 1 and 2), multipliers,
// a = a0 + M^-1 J^T lam. Everything is straight-line code in registers; sine and cosine are the C library's.

#include <algorithm>
#include <cmath>

namespace {

constexpr int N = 7;

struct Model {
    double im1, iI1, im2, iI2, im3;  // inverse masses and inertias
    double a, l1, b;                 // half crank, crank, half rod
    double k, c, rest;               // spring, damper, relaxed length l1 + l2
    double g, turn;                  // gravity, torque / I1
    double aaI1, alI1, llI1, bbI2;   // a^2/I1, a l1/I1, l1^2/I1, b^2/I2
};

// In the order of the problem's parameters: m1 m2 m3 l1 l2 k c tau g I1 I2.
Model model(const double* p) {
    const double l1 = p[3], l2 = p[4], a = 0.5 * l1, b = 0.5 * l2;
    const double iI1 = 1.0 / p[9], iI2 = 1.0 / p[10];
    return {1.0 / p[0], iI1, 1.0 / p[1], iI2, 1.0 / p[2], a, l1, b, p[5], p[6], l1 + l2, p[8], p[7] * iI1,
            a * a * iI1, a * l1 * iI1, l1 * l1 * iI1, b * b * iI2};
}

struct Angles {
    double s1, c1, s2, c2;
};

inline Angles angles(const double* q) {
    return {std::sin(q[2]), std::cos(q[2]), std::sin(q[5]), std::cos(q[5])};
}

// L D L^T of S: unit lower factors and inverse pivots.
struct Factor {
    double l21, l31, l32, l41, l42, l43, l53, l54, l63, l64, l65;
    double d1, d2, d3, d4, d5, d6;
};

inline Factor factorise(const Model& m, const Angles& t) {
    const double ss1 = t.s1 * t.s1, sc1 = t.s1 * t.c1, cc1 = t.c1 * t.c1;
    const double r11 = m.bbI2 * t.s2 * t.s2, r12 = m.bbI2 * t.s2 * t.c2, r22 = m.bbI2 * t.c2 * t.c2;
    Factor f;
    const double s12 = -m.aaI1 * sc1;
    const double s13 = -m.alI1 * ss1, s14 = m.alI1 * sc1, s24 = -m.alI1 * cc1;  // S23 = S14

    const double p1 = m.im1 + m.aaI1 * ss1;
    f.d1 = 1.0 / p1;
    f.l21 = s12 * f.d1;
    f.l31 = s13 * f.d1;
    f.l41 = s14 * f.d1;

    const double p2 = m.im1 + m.aaI1 * cc1 - f.l21 * s12;
    const double e32 = s14 - f.l31 * s12;
    const double e42 = s24 - f.l41 * s12;
    f.d2 = 1.0 / p2;
    f.l32 = e32 * f.d2;
    f.l42 = e42 * f.d2;

    const double p3 = m.llI1 * ss1 + m.im2 + r11 - f.l31 * s13 - f.l32 * e32;
    const double e43 = -m.llI1 * sc1 - r12 - f.l41 * s13 - f.l42 * e32;
    const double e53 = r11 - m.im2;
    const double e63 = -r12;
    f.d3 = 1.0 / p3;
    f.l43 = e43 * f.d3;
    f.l53 = e53 * f.d3;
    f.l63 = e63 * f.d3;

    const double p4 = m.llI1 * cc1 + m.im2 + r22 - f.l41 * s14 - f.l42 * e42 - f.l43 * e43;
    const double e54 = -r12 - f.l53 * e43;
    const double e64 = r22 - m.im2 - f.l63 * e43;
    f.d4 = 1.0 / p4;
    f.l54 = e54 * f.d4;
    f.l64 = e64 * f.d4;

    const double p5 = m.im2 + m.im3 + r11 - f.l53 * e53 - f.l54 * e54;
    const double e65 = -r12 - f.l63 * e53 - f.l64 * e54;
    f.d5 = 1.0 / p5;
    f.l65 = e65 * f.d5;

    f.d6 = 1.0 / (m.im2 + r22 - f.l63 * e63 - f.l64 * e64 - f.l65 * e65);
    return f;
}

// x = M^-1 J^T S^-1 r, the smallest one in the mass metric with J x = r.
inline void lift(const Model& m, const Angles& t, const Factor& f, const double* r, double* x) {
    const double y1 = r[0];
    const double y2 = r[1] - f.l21 * y1;
    const double y3 = r[2] - f.l31 * y1 - f.l32 * y2;
    const double y4 = r[3] - f.l41 * y1 - f.l42 * y2 - f.l43 * y3;
    const double y5 = r[4] - f.l53 * y3 - f.l54 * y4;
    const double y6 = r[5] - f.l63 * y3 - f.l64 * y4 - f.l65 * y5;
    const double z6 = y6 * f.d6;
    const double z5 = y5 * f.d5 - f.l65 * z6;
    const double z4 = y4 * f.d4 - f.l54 * z5 - f.l64 * z6;
    const double z3 = y3 * f.d3 - f.l43 * z4 - f.l53 * z5 - f.l63 * z6;
    const double z2 = y2 * f.d2 - f.l32 * z3 - f.l42 * z4;
    const double z1 = y1 * f.d1 - f.l21 * z2 - f.l31 * z3 - f.l41 * z4;
    x[0] = m.im1 * z1;
    x[1] = m.im1 * z2;
    x[2] = m.iI1 * (t.s1 * (m.a * z1 - m.l1 * z3) - t.c1 * (m.a * z2 - m.l1 * z4));
    x[3] = m.im2 * (z5 - z3);
    x[4] = m.im2 * (z6 - z4);
    x[5] = m.iI2 * m.b * (t.c2 * (z4 + z6) - t.s2 * (z3 + z5));
    x[6] = -m.im3 * z5;
}

// J v
inline void rate(const Model& m, const Angles& t, const double* v, double* r) {
    const double u1 = m.l1 * v[2], h1 = m.a * v[2], u2 = m.b * v[5];
    r[0] = v[0] + t.s1 * h1;
    r[1] = v[1] - t.c1 * h1;
    r[2] = -t.s1 * u1 - v[3] - t.s2 * u2;
    r[3] = t.c1 * u1 - v[4] + t.c2 * u2;
    r[4] = v[3] - t.s2 * u2 - v[6];
    r[5] = v[4] + t.c2 * u2;
}

inline void position(const Model& m, const Angles& t, const double* q, double* phi) {
    phi[0] = q[0] - m.a * t.c1;
    phi[1] = q[1] - m.a * t.s1;
    phi[2] = m.l1 * t.c1 - q[3] + m.b * t.c2;
    phi[3] = m.l1 * t.s1 - q[4] + m.b * t.s2;
    phi[4] = q[3] + m.b * t.c2 - q[6];
    phi[5] = q[4] + m.b * t.s2;
}

// Without constraints: gravity, torque, spring and damper.
inline double free_slider(const Model& m, const double* q, const double* v) {
    return m.im3 * (m.k * (m.rest - q[6]) - m.c * v[6]);
}

inline void acceleration(const Model& m, const Angles& t, const double* q, const double* v, double* out) {
    const double w1 = v[2] * v[2], w2 = v[5] * v[5];
    const double free3 = free_slider(m, q, v);
    const double cb = m.b * t.c2 * w2, sb = m.b * t.s2 * w2;
    const double c1 = t.c1 * w1, s1 = t.s1 * w1;
    const double r[6] = {
        -m.a * c1 - m.a * t.s1 * m.turn,
        -m.a * s1 + m.g + m.a * t.c1 * m.turn,
        m.l1 * c1 + cb + m.l1 * t.s1 * m.turn,
        m.l1 * s1 + sb - m.l1 * t.c1 * m.turn - m.g,
        cb + free3,
        sb + m.g,
    };
    lift(m, t, factorise(m, t), r, out);
    out[1] -= m.g;
    out[2] += m.turn;
    out[4] -= m.g;
    out[6] += free3;
}

// One step of the classical Runge-Kutta method; `t` are the angles of q.
inline void rk4_step(const Model& m, const Angles& t, double dt, double* q, double* v) {
    const double half = 0.5 * dt, sixth = dt / 6;
    double r1[N], r2[N], r3[N], r4[N], v2[N], v3[N], v4[N], x[N];
    acceleration(m, t, q, v, r1);
    for (int i = 0; i < N; ++i) x[i] = q[i] + half * v[i], v2[i] = v[i] + half * r1[i];
    acceleration(m, angles(x), x, v2, r2);
    for (int i = 0; i < N; ++i) x[i] = q[i] + half * v2[i], v3[i] = v[i] + half * r2[i];
    acceleration(m, angles(x), x, v3, r3);
    for (int i = 0; i < N; ++i) x[i] = q[i] + dt * v3[i], v4[i] = v[i] + dt * r3[i];
    acceleration(m, angles(x), x, v4, r4);
    for (int i = 0; i < N; ++i) {
        q[i] += sixth * (v[i] + 2 * (v2[i] + v3[i]) + v4[i]);
        v[i] += sixth * (r1[i] + 2 * (r2[i] + r3[i]) + r4[i]);
    }
}

constexpr double TOLERANCE = 1e-14;
constexpr int MOST = 20;

inline double largest(const double* x, int n) {
    double size = 0.0;
    for (int i = 0; i < n; ++i) size = std::max(size, std::fabs(x[i]));
    return size;
}

// Newton's method on the positions, then one linear step on the velocities, both in the mass metric. The factor of the
// last iterate serves the velocities too: it differs by the last correction, relatively. Returns the angles of the new q.
inline Angles project(const Model& m, double* q, double* v, bool& failed) {
    const double goal = TOLERANCE * (1.0 + largest(q, N));
    double r[6], x[N];
    Angles t = angles(q), at = t;
    Factor f = factorise(m, t);
    position(m, t, q, r);
    double best = INFINITY;
    for (int i = 0;; ++i) {
        const double size = largest(r, 6);
        // At rounding level the residual stops halving.
        if (size <= goal || (size < 1e3 * goal && size > 0.5 * best)) break;
        if (i == MOST) {
            failed = true;
            break;
        }
        best = std::min(best, size);
        if (i > 0) at = t, f = factorise(m, t);
        lift(m, at, f, r, x);
        for (int j = 0; j < N; ++j) q[j] -= x[j];
        t = angles(q);
        position(m, t, q, r);
    }
    rate(m, t, v, r);
    lift(m, at, f, r, x);
    for (int j = 0; j < N; ++j) v[j] -= x[j];
    return t;
}

}  // namespace

extern "C" {

// Each runs `steps` steps of `dt` on state = (q, v), 14 numbers, and writes the crank's angle to `marks` after every
// `each` steps. Returns 0, or 1 where a state could not be projected.

int rk4(const double* parameters, double* state, double dt, long steps, long each, double* marks) {
    const Model m = model(parameters);
    double q[N], v[N];
    std::copy(state, state + N, q);
    std::copy(state + N, state + 2 * N, v);
    for (long i = 1; i <= steps; ++i) {
        rk4_step(m, angles(q), dt, q, v);
        if (i % each == 0) *marks++ = q[2];
    }
    std::copy(q, q + N, state);
    std::copy(v, v + N, state + N);
    return 0;
}

int rk4_projected(const double* parameters, double* state, double dt, long steps, long each, double* marks) {
    const Model m = model(parameters);
    double q[N], v[N];
    bool failed = false;
    std::copy(state, state + N, q);
    std::copy(state + N, state + 2 * N, v);
    Angles t = angles(q);
    for (long i = 1; i <= steps; ++i) {
        rk4_step(m, t, dt, q, v);
        t = project(m, q, v, failed);
        if (i % each == 0) *marks++ = q[2];
    }
    std::copy(q, q + N, state);
    std::copy(v, v + N, state + N);
    return failed;
}

// Velocity level, first order: the velocity nearest to v + dt a_free in the mass metric that takes the linearised
// constraints back to zero, J v = -phi / dt, then q + dt v.
int velocity_level(const double* parameters, double* state, double dt, long steps, long each, double* marks) {
    const Model m = model(parameters);
    const double per_step = 1.0 / dt;
    double q[N], v[N], r[6], phi[6], x[N];
    std::copy(state, state + N, q);
    std::copy(state + N, state + 2 * N, v);
    for (long i = 1; i <= steps; ++i) {
        const Angles t = angles(q);
        const double free3 = free_slider(m, q, v);
        v[1] -= dt * m.g;
        v[2] += dt * m.turn;
        v[4] -= dt * m.g;
        v[6] += dt * free3;
        rate(m, t, v, r);
        position(m, t, q, phi);
        for (int j = 0; j < 6; ++j) r[j] += per_step * phi[j];
        lift(m, t, factorise(m, t), r, x);
        for (int j = 0; j < N; ++j) v[j] -= x[j], q[j] += dt * v[j];
        if (i % each == 0) *marks++ = q[2];
    }
    std::copy(q, q + N, state);
    std::copy(v, v + N, state + N);
    return 0;
}
}
